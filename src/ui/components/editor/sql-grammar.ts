/** The words and options of statements, for completion. What the server takes is said in docs/sql.md. */

/** How a statement begins. */
export const STATEMENTS = [
  'SELECT',
  'WITH',
  'EXPLAIN',
  'EXPLAIN ANALYZE',
  'DESCRIBE',
  'DESCRIBE AGENT',
  'DESCRIBE KNOWLEDGE_BASE',
  'SHOW KNOWLEDGE_BASES',
  'SHOW AGENTS',
  'SHOW TABLES',
  'SHOW VIEWS',
  'SHOW FILES',
  'SHOW JOBS',
  'SHOW INDEXES',
  'SHOW MODELS',
  'SHOW PROJECTS',
  'SHOW DATABASES',
  'SHOW SOURCES',
  'SHOW PROCESSLIST',
  'SHOW KEYS',
  'SHOW USERS',
  'SHOW CREATE TABLE',
  'INSERT INTO',
  'UPDATE',
  'DELETE FROM',
  'CREATE KNOWLEDGE_BASE',
  'CREATE AGENT',
  'CREATE VIEW',
  'CREATE TABLE',
  'CREATE INDEX ON KNOWLEDGE_BASE',
  'CREATE JOB',
  'CREATE PROJECT',
  'CREATE DATABASE',
  'CREATE KEY',
  'ALTER KNOWLEDGE_BASE',
  'ALTER AGENT',
  'ALTER VIEW',
  'DROP KNOWLEDGE_BASE',
  'DROP AGENT',
  'DROP VIEW',
  'DROP TABLE',
  'DROP INDEX ON KNOWLEDGE_BASE',
  'DROP JOB',
  'EVALUATE KNOWLEDGE_BASE',
  'EVALUATE AGENT',
  'REFRESH KNOWLEDGE_BASE',
  'VACUUM',
  'SET',
  'USE',
] as const

/** What stands within one. */
export const CLAUSES = [
  'SELECT',
  'FROM',
  'WHERE',
  'GROUP BY',
  'GROUP BY ALL',
  'ORDER BY',
  'LIMIT',
  'OFFSET',
  'HAVING',
  'QUALIFY',
  'JOIN',
  'LEFT JOIN',
  'FULL JOIN',
  'CROSS JOIN',
  'LATERAL',
  'ON',
  'USING',
  'AS',
  'AND',
  'OR',
  'NOT',
  'IN',
  'LIKE',
  'ILIKE',
  'BETWEEN',
  'IS NULL',
  'IS NOT NULL',
  'EXISTS',
  'DISTINCT',
  'CASE',
  'WHEN',
  'THEN',
  'ELSE',
  'END',
  'CAST',
  'COALESCE',
  'UNION',
  'UNION ALL',
  'INTERSECT',
  'EXCEPT',
  'OVER',
  'PARTITION BY',
  'FILTER',
  'ASC',
  'DESC',
  'NULLS LAST',
  'NULL',
  'TRUE',
  'FALSE',
  'INTERVAL',
  'DATE',
  'TIMESTAMP',
  'VALUES',
  'IF NOT EXISTS',
  'IF EXISTS',
  'OR REPLACE',
  'PIVOT',
  'UNPIVOT',
  'EXCLUDE',
  'SAMPLE',
] as const

export interface GrammarOption {
  readonly name: string
  /** With a value to write over. */
  readonly insert: string
  readonly info: string
}

type Listed = readonly (readonly [insert: string, info: string])[]

function options(listed: Listed): readonly GrammarOption[] {
  return listed.map(([insert, info]) => ({ name: insert.split(' ')[0] ?? insert, insert, info }))
}

/** Beside the other conditions of a search. */
const SEARCH_OPTIONS = options([
  ["content = ''", 'Ranks by meaning: the text that is searched for'],
  ['relevance', 'How well a chunk fits: larger is better'],
  ['distance', 'How far the vector of a chunk is: 0 to 2'],
  ['hybrid_search = true', 'By meaning and by keywords'],
  ['hybrid_search_alpha = 0.5', 'The weight of meaning: 0 is keywords alone, 1 meaning alone'],
  ["hybrid_search_fusion = 'convex'", "How both are added: 'convex', 'scaled' or 'rrf'"],
  ['hybrid_search_feedback = true', 'Searches a second time, near what was found first'],
  ['reranking = false', 'Without the reranking model'],
])

const AGENT_QUESTION = options([["question = ''", 'What the agent is asked']])

const HYBRID_DEFAULTS = options([
  ['hybrid_search = true', 'Searches are by keywords too, unless they say otherwise'],
  ['hybrid_search_alpha = 0.5', 'The weight of meaning, 0 to 1'],
  ["hybrid_search_fusion = 'convex'", "'convex', 'scaled' or 'rrf'"],
  ['hybrid_search_feedback = true', 'A second search near what was found first'],
])

const KNOWLEDGE_BASE = [
  ...options([
    ["content_columns = ['content']", 'Columns that are cut into chunks and searched'],
    ["metadata_columns = ['']", 'Columns to filter by'],
    ["id_column = 'id'", 'The column that names a document'],
    ["language = 'english'", 'Of the keyword search'],
    [
      'preprocessing = {"text_chunking_config": {"chunk_size": 1000, "chunk_overlap": 200}}',
      'How texts are cut into chunks',
    ],
    [
      'embedding_model = {"provider": "", "model_name": ""}',
      'What makes the vectors; without it, the built-in model',
    ],
    [
      'reranking_model = {"provider": "", "model_name": ""}',
      'Scores the best candidates of a search again',
    ],
  ]),
  ...HYBRID_DEFAULTS,
]

const AGENT = options([
  ['model = {"provider": "", "model_name": "", "api_key": ""}', 'The chat model that answers'],
  ['data = {"knowledge_bases": [], "tables": []}', 'What it may read'],
  ["prompt_template = ''", 'How it is told to answer'],
  ['timeout = 60', 'Seconds that an answer may take'],
  ['max_steps = 10', 'Steps that it may take'],
  ["mode = 'text'", 'How it answers'],
])

const EVALUATION = options([
  ['test_table = ', 'Questions with their documents'],
  ["version = 'judgments'", "'judgments', 'doc_id' or 'llm_relevancy'"],
  ['k = 10', 'How many documents are looked at'],
  ["mode = 'hybrid'", "'vector', 'keyword' or 'hybrid'"],
  ['alpha = 0.5', 'The weight of meaning'],
  ["fusion = 'convex'", "'convex', 'scaled' or 'rrf'"],
  ['reranking = false', 'Without the reranking model'],
  ['per_question = true', 'A row for each question'],
  ['save_to = ', 'A table that the rows are added to'],
  ['generate_data = true', 'A model writes questions first'],
  ['evaluate = false', 'Only writes the questions'],
  ['llm = {"provider": "", "model_name": ""}', 'The model that writes and judges'],
])

const AGENT_EVALUATION = options([
  ['questions = (SELECT question, answer FROM )', 'Questions with their answers or documents'],
  ["judge = ['model', 'citation']", 'What judges an answer'],
  ['judge_model = {"provider": "", "model_name": ""}', 'The model that judges'],
  ['compare = {}', 'The same agent with other fields'],
  ['concurrency = 4', 'Questions at a time'],
  ['limit = 20', 'Questions in all'],
  ["run = ''", 'A name for the rows'],
  ['save_to = ', 'A table that the rows are added to'],
  ['summary = true', 'One row with the means'],
  ['background = true', 'As a job'],
])

const INDEX = options([
  ["type = 'hnsw'", "'exact', 'ivf', 'hnsw' or 'auto'"],
  ["metric = 'cosine'", 'The one there is'],
  ['m = 16', 'hnsw: edges of a node'],
  ['ef_construction = 128', 'hnsw: care while it is made'],
  ['ef_search = 64', 'hnsw: care while it searches'],
  ['nlist = 100', 'ivf: lists of vectors'],
])

const KEY = options([
  ["scopes = ['read']", "'read', 'write', 'ask', 'admin'"],
  ["projects = ['']", 'Those that it may see'],
  ["expires_at = '2099-12-31'", 'When it ends'],
  ['requests_per_minute = 60', 'How often it may ask'],
])

const OF_STATEMENT: readonly (readonly [RegExp, readonly GrammarOption[]])[] = [
  [/^evaluate\s+agent\b/i, AGENT_EVALUATION],
  [/^evaluate\b/i, EVALUATION],
  [/^(create|alter)\s+knowledge[_ ]base\b/i, KNOWLEDGE_BASE],
  [/^(create|alter)\s+agent\b/i, AGENT],
  [/^create\s+(or\s+replace\s+)?index\b/i, INDEX],
  [/^create\s+key\b/i, KEY],
]

/** What may stand behind USING, or the WITH of an index; undefined where this statement has no options there. */
export function optionsAfterUsing(code: string): readonly GrammarOption[] | undefined {
  const hasBegun = /\b(using|with)\b/i.test(code)
  return hasBegun ? OF_STATEMENT.find(([begins]) => begins.test(code))?.[1] : undefined
}

/** What conditions on a table of this kind understand beside its columns. */
export function optionsOfTable(kind: string): readonly GrammarOption[] {
  if (kind === 'KNOWLEDGE BASE') return SEARCH_OPTIONS
  return kind === 'AGENT' ? AGENT_QUESTION : []
}
