dstack apply -y -d -n chat-0 -f dstack.dstack.yml
dstack apply -y -d -n chat-1 -f dstack.dstack.yml
