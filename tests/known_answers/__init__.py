"""Every kind of message once, with a fault that must be refused, in a file that another implementation can use."""
