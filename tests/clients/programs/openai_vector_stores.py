"""The official SDK: files in, a search, and questions over them with their names as citations."""

import json
import os
import pathlib
import tempfile

from openai import ConflictError, NotFoundError, OpenAI

client = OpenAI(base_url=os.environ["EIDER_URL"] + "/v1", api_key=os.environ["EIDER_KEY"])


def refusal(run):
    try:
        run()
    except (ConflictError, NotFoundError) as error:
        return [type(error).__name__, error.status_code, error.code]
    return None


store = client.vector_stores.create(name="Brewing", metadata={"team": "kitchen"})
with tempfile.TemporaryDirectory() as folder:
    paths = []
    for name, text in {
        "gyokuro.md": "# Gyokuro\n\nGyokuro is steeped at fifty degrees.",
        "mate.txt": "Mate is drunk in Uruguay from a gourd.",
        "prices.csv": "tea,price\nassam,4\nsencha,7\n",
    }.items():
        path = pathlib.Path(folder, name)
        path.write_text(text)
        paths.append(path)
    with paths[0].open("rb") as file:
        first = client.vector_stores.files.upload_and_poll(
            vector_store_id=store.id, file=file, attributes={"kind": "green"}
        )
    batch = client.vector_stores.file_batches.upload_and_poll(
        vector_store_id=store.id, files=paths[1:], poll_interval_ms=100
    )
    with paths[1].open("rb") as file:
        lonely = client.files.create(file=file, purpose="assistants")
gone = client.files.delete(lonely.id)
missing = refusal(
    lambda: client.vector_stores.files.create(vector_store_id=store.id, file_id=lonely.id)
)
found = client.vector_stores.search(vector_store_id=store.id, query="Where is mate drunk?")
green = client.vector_stores.search(
    vector_store_id=store.id,
    query="steeped",
    filters={"type": "eq", "key": "kind", "value": "green"},
)
tool = {"type": "file_search", "vector_store_ids": [store.id]}
question = "How hot is gyokuro steeped?"
answer = client.responses.create(
    model=store.id, input=question, tools=[tool], include=["file_search_call.results"]
)
message = answer.output[-1].content[0]
kept = client.responses.retrieve(answer.id)
with client.responses.stream(model=store.id, input=question, tools=[tool]) as stream:
    streamed = stream.until_done().get_final_response()
chat = client.chat.completions.create(
    model=store.id, messages=[{"role": "user", "content": question}]
)
listed = [one.id for one in client.vector_stores.files.list(vector_store_id=store.id, limit=2)]
counts = client.vector_stores.retrieve(store.id).file_counts
client.files.delete(first.id)
after = client.vector_stores.retrieve(store.id).file_counts.total
dropped = client.vector_stores.delete(store.id)

print(
    json.dumps(
        {
            "store": [store.id, store.name],
            "first": [first.status, first.attributes["kind"], first.last_error],
            "batch": [batch.status, batch.file_counts.completed, batch.file_counts.total],
            "gone": gone.deleted,
            "missing": missing,
            "best": [found.data[0].filename, "Uruguay" in found.data[0].content[0].text],
            "green": [one.file_id == first.id for one in green],
            "cited": [
                [one.type, one.file_id == first.id, one.filename] for one in message.annotations
            ],
            "results": [
                [one.file_id == first.id, one.filename] for one in answer.output[0].results
            ],
            "says": "fifty degrees" in answer.output_text,
            "kept": kept.output_text == answer.output_text,
            "streamed": [one.filename for one in streamed.output[-1].content[0].annotations],
            "chat": [
                "fifty degrees" in chat.choices[0].message.content,
                first.id in chat.choices[0].message.annotations[0].url_citation.url,
            ],
            "listed": len(set(listed)),
            "counts": [counts.completed, counts.total, after],
            "dropped": dropped.deleted,
        }
    )
)
