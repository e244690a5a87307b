"""OpenAI's client for Python, as its README uses it."""

import json

import openai
from openai import OpenAI
from pydantic import BaseModel

client = OpenAI()
model = "mindsdb.sommelier"
messages = [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "content": "Where does rooibos come from?"},
]


class Origin(BaseModel):
    origin: str
    caffeine: bool


whole = client.chat.completions.create(model=model, messages=messages, temperature=0)
pieces, usage = [], None
for chunk in client.chat.completions.create(
    model=model, messages=messages, stream=True, stream_options={"include_usage": True}
):
    if chunk.choices:
        pieces.append(chunk.choices[0].delta.content or "")
    usage = chunk.usage or usage

with client.chat.completions.stream(model=model, messages=messages) as stream:
    for event in stream:
        pass
    helped = stream.get_final_completion().choices[0].message.content

parsed = client.chat.completions.parse(model=model, messages=messages, response_format=Origin)

raw = client.chat.completions.with_raw_response.create(
    model=model, messages=messages, extra_body={"eider": {"steps": True}}, seed=4
)

try:
    client.chat.completions.create(model="nothing", messages=messages)
    refused = None
except openai.NotFoundError as error:
    refused = error.code

print(
    json.dumps(
        {
            "models": [one.id for one in client.models.list()],
            "content": whole.choices[0].message.content,
            "cited": [one.url_citation.title for one in whole.choices[0].message.annotations],
            "usage": whole.usage.total_tokens,
            "streamed": "".join(pieces),
            "streamed_usage": usage.total_tokens,
            "helped": helped,
            "parsed": parsed.choices[0].message.parsed.model_dump(),
            "thought": raw.parse().choices[0].message.reasoning_content,
            "ignored": raw.headers.get("x-eider-ignored"),
            "refused": refused,
        }
    )
)
