torchx run -s kubernetes torchx.py:allreduce
