"""Who says something of batches: built in, any endpoint that speaks OpenAI's chat, or anybody's function."""

from streamward.drivers.analysts.chat import ChatAnalyst, Endpoint
from streamward.drivers.analysts.loading import BUILT_IN, CHAT, load_analyst

__all__ = ["BUILT_IN", "CHAT", "ChatAnalyst", "Endpoint", "load_analyst"]
