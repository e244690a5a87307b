/**
 * Phrases and options of Eider's statements, which CodeMirror's SQL language does not contain.
 * docs/sql.md explains them.
 */
import { codeOf } from './sql-code.ts'

export const STATEMENTS: readonly string[] = `
SELECT|WITH|EXPLAIN|EXPLAIN ANALYZE|DESCRIBE|DESCRIBE AGENT|DESCRIBE KNOWLEDGE_BASE|INSERT INTO|UPDATE|DELETE FROM
SHOW KNOWLEDGE_BASES|SHOW AGENTS|SHOW TABLES|SHOW VIEWS|SHOW FILES|SHOW JOBS|SHOW INDEXES|SHOW MODELS|SHOW PROJECTS
SHOW DATABASES|SHOW SOURCES|SHOW CREATE TABLE
CREATE KNOWLEDGE_BASE|CREATE AGENT|CREATE VIEW|CREATE TABLE|CREATE INDEX ON KNOWLEDGE_BASE|CREATE JOB|CREATE PROJECT
CREATE DATABASE|ALTER KNOWLEDGE_BASE|ALTER AGENT|ALTER VIEW|DROP KNOWLEDGE_BASE|DROP AGENT|DROP VIEW
DROP TABLE|DROP INDEX ON KNOWLEDGE_BASE|DROP JOB|EVALUATE KNOWLEDGE_BASE|EVALUATE AGENT|REFRESH KNOWLEDGE_BASE
VACUUM|SET|USE`
  .trim()
  .split(/[|\n]/)

interface SqlOption {
  readonly name: string
  /** The option with an example value to replace. */
  readonly insert: string
  readonly info: string
}

/** Each line has one option: the text to insert, then its description. */
function options(lines: string): readonly SqlOption[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [insert = '', info = ''] = line.trim().split(' -- ')
      return { name: insert.split(' ')[0] ?? '', insert, info }
    })
}

const SEARCH = options(`
  content = '' -- The text to search for
  relevance -- How well a chunk fits: larger is better
  distance -- The distance of a chunk's vector, 0 to 2
  hybrid_search = true -- Semantic and keyword search together
  hybrid_search_alpha = 0.5 -- The semantic share: 0 is keyword search, 1 is semantic search
  hybrid_search_fusion = 'convex' -- How both rankings are combined: 'convex', 'scaled' or 'rrf'
  hybrid_search_feedback = true -- Searches again near the first results
  reranking = false -- Skips the reranking model
  allow_partial = true -- Leaves out PostgreSQL nodes that cannot be reached`)

const QUESTION = options(`question = '' -- The question for the agent`)

const KNOWLEDGE_BASE = options(`
  content_columns = ['content'] -- Columns to chunk and search
  metadata_columns = [''] -- Columns to filter by
  id_column = 'id' -- The column that identifies a document
  language = 'english' -- The language for keyword search
  preprocessing = {"text_chunking_config": {"chunk_size": 1000, "chunk_overlap": 200}} -- Chunking
  embedding_model = {"provider": "", "model_name": ""} -- Omit it for the built-in model
  reranking_model = {"provider": "", "model_name": ""} -- Scores the best results of a search again
  hybrid_search = true -- Searches are hybrid unless they say otherwise
  hybrid_search_alpha = 0.5 -- The semantic share, 0 to 1
  hybrid_search_fusion = 'convex' -- 'convex', 'scaled' or 'rrf'`)

const AGENT = options(`
  model = {"provider": "", "model_name": "", "api_key": ""} -- The chat model
  data = {"knowledge_bases": [], "tables": []} -- What the agent may read
  prompt_template = '' -- Instructions
  timeout = 60 -- Seconds an answer may take
  max_steps = 10 -- Steps an answer may take
  mode = 'text' -- The form of an answer`)

const EVALUATION = options(`
  test_table =  -- Questions with their documents
  version = 'judgments' -- 'judgments', 'doc_id' or 'llm_relevancy'
  k = 10 -- How many documents count
  mode = 'hybrid' -- 'vector', 'keyword' or 'hybrid'
  alpha = 0.5 -- The semantic share
  fusion = 'convex' -- 'convex', 'scaled' or 'rrf'
  reranking = false -- Skips the reranking model
  per_question = true -- One row for each question
  save_to =  -- A table to add the rows to
  generate_data = true -- A model writes the questions first
  evaluate = false -- Only writes the questions
  llm = {"provider": "", "model_name": ""} -- The model that writes and judges`)

const AGENT_EVALUATION = options(`
  questions = (SELECT question, answer FROM ) -- Questions with their answers or documents
  judge = ['model', 'citation'] -- What judges an answer
  judge_model = {"provider": "", "model_name": ""} -- The model that judges
  compare = {} -- Fields of the agent to change for a second run
  concurrency = 4 -- Questions at a time
  limit = 20 -- Maximum number of questions
  run = '' -- A name for the rows
  save_to =  -- A table to add the rows to
  summary = true -- One row with the means
  background = true -- Runs as a job`)

const INDEX = options(`
  type = 'hnsw' -- 'exact', 'ivf', 'hnsw' or 'auto'
  metric = 'cosine' -- The only metric
  m = 16 -- hnsw: links per vector
  ef_construction = 128 -- hnsw: candidates while building
  ef_search = 64 -- hnsw: candidates per search
  nlist = 100 -- ivf: lists of vectors`)

const KEY = options(`
  scopes = ['read'] -- 'read', 'write', 'ask', 'admin'
  projects = [''] -- The projects it can use
  expires_at = '2099-12-31' -- When it expires
  requests_per_minute = 60 -- Rate limit`)

const AFTER_USING: readonly (readonly [RegExp, readonly SqlOption[]])[] = [
  [/^evaluate\s+agent\b/i, AGENT_EVALUATION],
  [/^evaluate\b/i, EVALUATION],
  [/^(create|alter)\s+knowledge[_ ]base\b/i, KNOWLEDGE_BASE],
  [/^(create|alter)\s+agent\b/i, AGENT],
  [/^create\s+(or\s+replace\s+)?index\b/i, INDEX],
  [/^create\s+key\b/i, KEY],
]

/** @param kinds the kinds of the tables in the statement, by their catalog names */
export function optionsAt(lead: string, kinds: ReadonlySet<string>): readonly SqlOption[] {
  const code = codeOf(lead).trimStart()
  if (/=\s*[^,]*$/.test(code) && !/\b(and|or|where)\s+\S*$/i.test(code)) return []
  const isAfterUsing = /\b(using|with)\b/i.test(code)
  const settings = isAfterUsing ? AFTER_USING.find(([begins]) => begins.test(code))?.[1] : undefined
  if (settings !== undefined) return settings
  if (!/\bwhere\b/i.test(code)) return []
  return [...(kinds.has('KNOWLEDGE BASE') ? SEARCH : []), ...(kinds.has('AGENT') ? QUESTION : [])]
}
