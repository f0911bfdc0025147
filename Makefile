# make run   a running service, from nothing      make test   every test, on both databases
SHELL := /bin/bash
