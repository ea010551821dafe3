"""What system tests share."""

from tests.support.postgres import database, emptied, mortal_postgres, postgres
from tests.support.rabbitmq import mortal_rabbitmq, rabbitmq
from tests.support.redis_server import mortal_redis, redis_server
from tests.support.seaweed import seaweed

__all__ = [
    "database",
    "emptied",
    "mortal_postgres",
    "mortal_rabbitmq",
    "mortal_redis",
    "postgres",
    "rabbitmq",
    "redis_server",
    "seaweed",
]
