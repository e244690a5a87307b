"""LlamaIndex for Python."""

import json
import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model="mindsdb.sommelier",
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    is_chat_model=True,
)
messages = [
    ChatMessage(role="system", content="Answer in one sentence."),
    ChatMessage(role="user", content="Where does rooibos come from?"),
]
answer = llm.chat(messages)
pieces = [chunk.delta or "" for chunk in llm.stream_chat(messages)]
completed = llm.complete("Where does rooibos come from?")
print(
    json.dumps(
        {
            "content": answer.message.content,
            "streamed": "".join(pieces),
            "completed": completed.text,
        }
    )
)
