import sys, time, secrets, os, json
import importlib.util
from pathlib import Path
here=Path(sys.argv[1])
def load(name):
    spec=importlib.util.spec_from_file_location(name,here/f"{name}.py"); m=importlib.util.module_from_spec(spec); sys.modules[name]=m; spec.loader.exec_module(m); return m
D=load('driver'); C=load('cupy_device')
import numpy as np, cupy
t0=time.time()
dev=C.CupyDevice(D.source(),D.BLOCK); drv=D.Driver(dev)
print('SMs',dev.processors)
def rows(vals,words): return cupy.asarray(np.stack([D.words_of(v,words) for v in vals]))
def ints(a): return [D.to_int(r) for r in cupy.asnumpy(a)]
n=secrets.randbits(2048)|1|1<<2047; N=n*n
def timed(f,rep=3):
    f(); cupy.cuda.Device().synchronize(); best=1e9
    for _ in range(rep):
        a,b=cupy.cuda.Event(),cupy.cuda.Event(); a.record(); f(); b.record(); b.synchronize(); best=min(best,cupy.cuda.get_elapsed_time(a,b))
    return best
def prod(root,deg,T,count,reps,square=False):
    ring=drv.ring(root,deg); shape=D.Shape(ring.limbs,deg,T)
    vals=[secrets.randbelow(root**deg) for _ in range(64)]
    el=drv._enter([ring],rows(vals,ring.words))
    el=cupy.ascontiguousarray(cupy.tile(el,(count//64+1,1))[:count]); out=cupy.empty_like(el)
    if square:
        f=lambda: dev.launch(shape,'fold_powers',count*T,(ring.constants,out,el,D.u32(1),D.u32(0),D.u32(count),D.u32(2),D.u32(reps-1),D.u32(count)))
    else:
        f=lambda: dev.launch(shape,'repeat_products',count*T,(ring.constants,out,el,D.u32(reps),D.u32(count)))
    ms=timed(f)
    o=ints(drv._leave(ring,out[-3:] if count>=3 else out))
    m=root**deg
    exp=[pow(vals[i%64],2**(reps-1)+1 if square else reps+1,m) for i in range(max(count-3,0),count)]
    ok=o==exp
    fn=dev._module(shape).get_function('repeat_products')
    print(f"L={ring.limbs} D={deg} T={T} {'sq' if square else 'mul'} count={count} reps={reps} ms={ms:.3f} M/s={count*reps/ms/1e3:.1f} us/op={ms*1e3/reps:.2f} ok={ok} regs={fn.num_regs}",flush=True)
big=132*12*8*4
for T in (4,8):
    prod(n,2,T,big,200); prod(n,2,T,big,200,True)
m4096=secrets.randbits(4095)|1|1<<4094
for T in (4,8): prod(m4096,1,T,big,100)
p=secrets.randbits(1024)|1|1<<1023
for T in (4,8): prod(p,2,T,big*2,200); 
for T in (8,16,32):
    prod(n,2,T,11,100); prod(n,2,T,11,100,True); prod(n,2,T,392,100,True)
for T in (8,16): prod(p,2,T,11,100); prod(p,2,T,11,100,True)
print('compile+run',time.time()-t0)
# combine
ring=drv.ring(n,2)
import math
vals=[]
while len(vals)<256:
    v=secrets.randbelow(N)
    if math.gcd(v,n)==1: vals.append(v)
M=np.random.default_rng().integers(-2**15,2**15,size=(256,392))
b=rows(vals,ring.words); Md=cupy.asarray(M)
res=[]
ms=timed(lambda: res.append(drv.combine(ring,b,Md,16)),5)
o=ints(res[-1][:2])
def ref(c):
    x=1
    for v,k in zip(vals,M[:,c]): x=x*pow(v,int(k),N)%N
    return x
print('combine ms',ms,'ok',o==[ref(0),ref(1)])
e=drv._enter([ring],b)
print('enter',timed(lambda: drv._enter([ring],b)))
print('unsigned',timed(lambda: drv._combine_unsigned(ring,e,Md,16)))
print('subsets',timed(lambda: drv._subsets(ring,e,10)))
print('excess',timed(lambda: drv.product_of_all(ring,e,15)))
s=drv.combine(ring,b,Md,16)
print('leave',timed(lambda: drv._leave(ring,drv._one(ring))))
print('pack 37x52',timed(lambda: drv.pack(ring,s,37,52),1))
t=time.time(); pow(vals[0],-1,N); print('python inverse',time.time()-t)
t=time.time(); os.urandom(100_000_000); print('urandom 100MB',time.time()-t)
print('total',time.time()-t0)
