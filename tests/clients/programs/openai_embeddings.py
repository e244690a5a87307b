"""The official SDK, LangChain and LlamaIndex embed as their documentation shows."""

import json
import os

from langchain_openai import OpenAIEmbeddings
from llama_index.embeddings.openai import OpenAIEmbedding
from openai import NotFoundError, OpenAI

url = os.environ["EIDER_URL"] + "/v1"
key = "sk-of-no-meaning"
model = "all-MiniLM-L6-v2"
text = "Green tea is steeped at eighty degrees."
client = OpenAI(base_url=url, api_key=key)

usual = client.embeddings.create(model=model, input=text)
first = usual.data[0].embedding
floats = client.embeddings.create(model=model, input=[text, "b"], encoding_format="float")
# What LangChain makes of the text where it can fetch the vocabulary of cl100k_base.
tokens = [20147, 15600, 374, 32366, 291, 520, 80679, 12628, 13]
of_tokens = client.embeddings.create(model=model, input=[tokens])
try:
    client.embeddings.create(model="none", input=text)
    failure = None
except NotFoundError as error:
    failure = {"status": error.status_code, "code": error.code, "param": error.param}
langchain = OpenAIEmbeddings(model=model, base_url=url, api_key=key, check_embedding_ctx_length=False)
llama = OpenAIEmbedding(model_name=model, api_base=url, api_key=key)


def is_same(vector):
    return len(vector) == len(first) and all(abs(a - b) < 1e-6 for a, b in zip(vector, first))


print(
    json.dumps(
        {
            "dimensions": len(first),
            "usage": usual.usage.model_dump(),
            "same": {
                "floats": is_same(floats.data[0].embedding),
                "tokens": is_same(of_tokens.data[0].embedding),
                "langchain": is_same(langchain.embed_query(text))
                and is_same(langchain.embed_documents([text, "Black tea"])[0]),
                "llama_index": is_same(llama.get_text_embedding(text)),
            },
            "failure": failure,
        }
    )
)
