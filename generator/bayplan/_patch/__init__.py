"""The parts of `bayplan.patch`; nothing else imports them."""
