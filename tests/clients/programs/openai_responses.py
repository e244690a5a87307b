"""OpenAI's client for Python: responses, with searched files and a conversation."""

import json

from openai import OpenAI
from pydantic import BaseModel

client = OpenAI()
model = "mindsdb.sommelier"
question = "Where does rooibos come from?"


class Origin(BaseModel):
    origin: str
    caffeine: bool


first = client.responses.create(model=model, input=question)
second = client.responses.create(model=model, input=question, previous_response_id=first.id)
search = client.responses.create(
    model=model,
    input=question,
    tools=[{"type": "file_search", "vector_store_ids": ["teas"]}],
    include=["file_search_call.results"],
)
types = []
with client.responses.stream(model=model, input=question) as stream:
    for event in stream:
        types.append(event.type)
    helped = stream.get_final_response().output_text
parsed = client.responses.parse(model=model, input=question, text_format=Origin)
print(
    json.dumps(
        {
            "text": first.output_text,
            "second": second.output_text,
            "kinds": [item.type for item in search.output],
            "score": search.output[0].results[0].score,
            "cited": search.output[1].content[0].annotations[0].filename,
            "types": sorted(set(types)),
            "helped": helped,
            "parsed": parsed.output_parsed.model_dump(),
            "usage": first.usage.total_tokens,
        }
    )
)
