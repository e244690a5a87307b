"""LangChain for Python."""

import json
import os

from langchain_openai import ChatOpenAI
from pydantic import BaseModel

model = ChatOpenAI(model="mindsdb.sommelier", base_url=os.environ["OPENAI_BASE_URL"], stream_usage=True)
asked = [("system", "Answer in one sentence."), ("human", "Where does rooibos come from?")]


class Origin(BaseModel):
    """Where a tea comes from."""

    origin: str
    caffeine: bool


answer = model.invoke(asked)
pieces, whole = [], None
for chunk in model.stream(asked):
    pieces.append(chunk.text)
    whole = chunk if whole is None else whole + chunk
by_schema = model.with_structured_output(Origin).invoke(asked)
by_call = model.with_structured_output(Origin, method="function_calling").invoke(asked)
print(
    json.dumps(
        {
            "content": answer.text,
            "usage": answer.usage_metadata["total_tokens"],
            "streamed": "".join(pieces),
            "streamed_usage": whole.usage_metadata["total_tokens"],
            "by_schema": by_schema.model_dump(),
            "by_call": by_call.model_dump(),
        }
    )
)
