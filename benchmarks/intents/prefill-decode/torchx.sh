torchx run -s kubernetes torchx.py:chat
