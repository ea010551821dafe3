"""What system tests share."""

from tests.support.postgres import database, emptied, postgres
from tests.support.rabbitmq import mortal_rabbitmq, rabbitmq
from tests.support.seaweed import seaweed

__all__ = ["database", "emptied", "mortal_rabbitmq", "postgres", "rabbitmq", "seaweed"]
