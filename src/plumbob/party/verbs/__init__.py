"""The verbs of `plumbob party`, one module each; `setup` has the short ones (init, renew, invite, join, doctor).

Each opens the party's folder, does its work, and returns the fields of the command's JSON, the printed lines among
them. Every verb can be stopped and started again. What checks a plan or draws a page is imported late:
most need neither.
"""
