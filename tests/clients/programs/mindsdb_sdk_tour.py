"""mindsdb_sdk as its users use it: every part of it that Eider has. Prints what each step saw."""

import json
import os
import tempfile
import time

import mindsdb_sdk
import pandas as pd

URL = os.environ['EIDER_URL']
options = json.loads(os.environ.get('CONNECT', '{}'))
only = os.environ.get('STEPS')
seen = {}


def step(name, run):
    if only is not None and name not in only.split(','):
        return
    try:
        seen[name] = run()
    except Exception as error:
        seen[name] = f'failed: {type(error).__name__}: {str(error)[:200]}'


con = mindsdb_sdk.connect(URL, **options)
project = con.projects.create('house')

TEAS = pd.DataFrame(
    {
        'id': ['sencha', 'assam', 'rooibos'],
        'content': [
            'Sencha is a green tea from Japan with a grassy taste.',
            'Assam is a strong black tea from India, often drunk with milk.',
            'Rooibos is a red herbal infusion from South Africa without caffeine.',
        ],
        'price': [9, 6, 5],
    }
)


def projects():
    return [sorted(p.name for p in con.projects.list()), con.projects.get('house').name]


def files():
    table = con.databases.files.tables.create('prices', TEAS[['id', 'price']])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'shops.csv')
        with open(path, 'w') as file:
            file.write('shop,city\nOne,Kyoto\nTwo,Delhi\n')
        con.api.upload_file('shops.csv', path)
    names = sorted(t.name for t in con.databases.files.tables.list())
    dear = table.filter(price=9).fetch().to_dict('records')
    return [names, dear, con.databases.files.tables.shops.limit(1).fetch().to_dict('records')]


def tables():
    house = con.databases.get('files')
    project.query('CREATE TABLE house.cups AS SELECT 1 AS id, 2.5 AS size').fetch()
    mine = mindsdb_sdk.databases.Database(con, 'house')
    copied = mine.tables.create('copy', mine.tables.get('cups'), replace=True)
    rows = copied.fetch().to_dict('records')
    mine.tables.drop('copy')
    return [house.engine, rows, sorted(t.name for t in mine.tables.list())]


def views():
    view = project.views.create('dear', 'SELECT * FROM files.prices WHERE price > 5')
    names = [v.name for v in project.views.list()]
    rows = view.filter(id='assam').limit(5).fetch().to_dict('records')
    return [names, project.views.get('dear').name, rows]


def knowledge_bases():
    kb = project.knowledge_bases.create(
        'teas', metadata_columns=['price'], content_columns=['content'], id_column='id'
    )
    kb.insert(TEAS)
    kb.insert({'id': 'mate', 'content': 'Mate is drunk in Argentina.', 'price': 7})
    kb.insert(con.databases.files.query("SELECT 'cha' AS id, 'Chai has milk and spices.' AS content"))
    kb.insert_files(['shops'])
    found = kb.find('a red infusion without caffeine', limit=1).fetch()
    ids = sorted(set(project.query('SELECT id FROM teas').fetch()['id']))
    again = project.knowledge_bases.get('teas')
    return [
        found['id'].tolist(),
        list(found.columns),
        ids[:6],
        [k.name for k in project.knowledge_bases.list()],
        [again.id_column, again.metadata_columns, again.content_columns],
    ]


def agents():
    agent = project.agents.create('sommelier', data={'knowledge_bases': ['house.teas']})
    question = [{'question': 'Which infusion has no caffeine?', 'answer': None}]
    told = agent.completion(question).content
    chunks = list(agent.completion_stream(question))
    types = [chunk.get('type') for chunk in chunks]
    events = [json.loads(e.data) for e in agent.completion_stream_v2(question)]
    whole = agent.completion_v2(question)
    project.agents.add_file('sommelier', 'prices.csv', 'Prices of teas')
    project.agents.add_database('sommelier', 'files', ['shops'], 'Shops')
    changed = project.agents.get('sommelier')
    changed.prompt_template = 'Be short'
    updated = project.agents.update('sommelier', changed)
    return [
        'Rooibos' in told,
        types[0],
        types[-1],
        len(events) == len(chunks),
        sorted(whole)[:2],
        [a.name for a in project.agents.list()],
        updated.data,
        updated.prompt_template,
    ]


def jobs():
    far = pd.Timestamp('2099-01-01')
    project.jobs.create('later', 'SELECT 1', start_at=far, repeat_str='1 hour')
    with project.jobs.create('block', start_at=far, repeat_min=5) as job:
        job.add_query('SELECT 2')
    names = sorted(j.name for j in project.jobs.list())
    got = project.jobs.get('later')
    history = list(got.get_history().columns)
    project.jobs.drop('later')
    project.jobs.drop('block')
    return [names, got.query_str, got.schedule_str, len(history) > 3, len(project.jobs.list())]


def tree():
    nodes = {node.name: node.type for node in con.tree()}
    inside = sorted(node.name for node in mindsdb_sdk.databases.Database(con, 'house').tree())
    return [nodes.get('house'), nodes.get('files'), inside]


def databases():
    con.databases.create('pg', engine='postgres', connection_args={'host': '127.0.0.1', 'port': 1})
    names = sorted(d.name for d in con.databases.list())
    con.databases.drop('pg')
    return [names, sorted(d.name for d in con.databases.list())]


def cleaned():
    project.agents.drop('sommelier')
    project.knowledge_bases.drop('teas')
    project.views.drop('dear')
    project.query('DROP TABLE house.cups').fetch()
    con.projects.drop('house')
    con.databases.files.tables.drop('prices')
    con.databases.files.tables.drop('shops')
    return [sorted(p.name for p in con.projects.list())]


step('status', lambda: 'mindsdb_version' in con.status())
step('projects', projects)
step('files', files)
step('tables', tables)
step('views', views)
step('knowledge bases', knowledge_bases)
step('agents', agents)
step('jobs', jobs)
step('tree', tree)
step('databases', databases)
step('models', lambda: [m.name for m in project.models.list()])
step('versions', lambda: [m.name for m in project.models.list(with_versions=True)])
step('engines', lambda: [e.name for e in con.ml_engines.list()])
step('handlers', lambda: len(con.data_handlers.list()) > 2)
step('ml handlers', lambda: isinstance(con.ml_handlers.list(), list))
step('config', lambda: [con.config.get_default_llm(), con.config.get_default_embedding_model()])
step('cleaned', cleaned)
if only is not None:
    con.projects.drop('house')
print(json.dumps(seen, default=str))
