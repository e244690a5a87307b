/** The OpenAPI 3.1 document, built from the schemas that check bodies and type answers. */
import { type TSchema, t } from 'elysia'
import { ERRORS } from '../../../core/errors.ts'
import { isOpenAiPath, OPENAI_FAILURE, PROBLEM } from '../request/error-response.ts'
import { type JsonSchema, shownSchema } from '../request/schema-words.ts'
import { type DeclaredAnswer, type DescribedAnswer, type Operation, TAGS } from './operation.ts'

const OPENAPI_VERSION = '3.1.2'

const ABOUT = `Knowledge bases, agents and SQL over HTTP.

- Bodies are JSON, in UTF-8, unless an operation says otherwise.
- If the server has a login, send \`Authorization: Bearer <token>\`: the token of \`login\`, or a key.
- A failed request gets \`application/problem+json\`: \`code\` is stable, \`detail\` says what to do. Only \`runSql\` answers a failed
  statement with status 200 and \`type: "error"\`.
- Times are UTC, as \`2026-04-30 12:00:00.000000\`.
- Clients should ignore unknown fields: later versions add some.`

/** The names in paths. */
const PATH_PARAMETERS: Readonly<Record<string, TSchema>> = {
  project_name: t.String({ description: 'The project, in any case', examples: ['mindsdb'] }),
  knowledge_base_name: t.String({ description: 'The knowledge base', examples: ['teas'] }),
  document_id: t.String({
    description: 'The document’s id as inserted, URL-encoded',
    examples: ['1'],
  }),
  agent_name: t.String({ description: 'The agent, in any case', examples: ['sommelier'] }),
  conversation_id: t.String({ description: 'The id from the first answer' }),
  trace_id: t.String({ description: '`trace_id` of the answer' }),
  job_id: t.Integer({ description: '`id` of the job', examples: [7] }),
  job_name: t.String({ description: 'The scheduled job', examples: ['nightly'] }),
  file_name: t.String({ description: 'The file', examples: ['teas.csv'] }),
  view_name: t.String({ description: 'The view', examples: ['cheap_teas'] }),
  key_id: t.Integer({ description: '`id` of the key' }),
  user_id: t.Integer({ description: '`id` of the user' }),
  response_id: t.String({ description: '`id` of the response' }),
  vector_store_id: t.String({ description: 'A knowledge base', examples: ['mindsdb.teas'] }),
  file_id: t.String({ description: '`id` of the file' }),
  batch_id: t.String({ description: '`id` of the batch' }),
  model: t.String({ description: 'An agent or a knowledge base', examples: ['mindsdb.sommelier'] }),
  source_id: t.String({ description: 'The name of the source, or its id' }),
  database_name: t.String({
    description: 'A project, a data source, `files` or `information_schema`',
    examples: ['mindsdb'],
  }),
  table_name: t.String({ description: 'A table, view, knowledge base or agent of the database' }),
}

export function openApiDocument(operations: readonly Operation[], version: string) {
  const named = new Map<string, JsonSchema>()
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    if (operation.isHidden === true) continue
    const shown = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    const method = operation.method.toLowerCase()
    paths[shown] = { ...paths[shown], [method]: shownOperation(operation, named) }
  }
  shownSchema(PROBLEM, named)
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: 'Eider',
      version,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document is from' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token from `login`, or a key. Not needed on a server without a login',
        },
      },
      headers: {
        RequestId: {
          description: 'The request’s id in the logs: the one it sent in this header, or a new one',
          schema: { type: 'string' },
        },
        RetryAfter: {
          description: 'Seconds to wait before a retry, if one makes sense',
          schema: { type: 'integer' },
        },
      },
      schemas: Object.fromEntries([...named].toSorted(([one], [two]) => (one < two ? -1 : 1))),
    },
  }
}

function shownOperation(declared: Operation, named: Map<string, JsonSchema>): object {
  const { id, method, path, summary, description, tag, needs } = declared
  if (id === undefined)
    throw new Error(`${method} ${path} has no id: generated clients need a name`)
  const parameters = documentedParameters(declared, named)
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    // OpenAPI 3.1 lets a bearer scheme name roles: ours are scopes.
    security: needs === 'nothing' ? [] : [{ bearer: needs === 'login' ? [] : [needs] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(declared, named),
    responses: responsesOf(declared, named),
  }
}

function documentedParameters(declared: Operation, named: Map<string, JsonSchema>) {
  const inPath = [...declared.path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const schema = PATH_PARAMETERS[name] ?? t.String()
    return documentedParameter('path', name, shownSchema(schema, named))
  })
  const inQuery = Object.entries(declared.query?.parameters ?? {}).map(([name, { schema }]) => {
    return documentedParameter('query', name, shownSchema(schema, named))
  })
  const inHeaders = Object.entries(declared.headers ?? {}).map(([name, description]) => {
    return documentedParameter('header', name, { type: 'string', description })
  })
  return [...inPath, ...inQuery, ...inHeaders]
}

function documentedParameter(place: 'path' | 'query' | 'header', name: string, schema: JsonSchema) {
  const { description = '', ...shape } = schema
  return { name, in: place, required: place === 'path', description, schema: shape }
}

function requestBodyOf(declared: Operation, named: Map<string, JsonSchema>) {
  const { body, takes = [], form, isBodyOptional = false } = declared
  const content: Record<string, object> = {}
  if (body !== undefined) {
    content['application/json'] = { schema: namedBody(declared, body.schema, named) }
  }
  const isJson = takes.length === 1
  for (const type of takes) {
    const schema = takenSchema(type, form, named)
    content[type] ??= { schema: isJson ? schema : fileOr(type, schema) }
  }
  if (Object.keys(content).length === 0) return {}
  return { requestBody: { required: !isBodyOptional, content } }
}

/** An unnamed body is named after its operation (`CreateAgent`), for the types of generators. */
function namedBody(
  { id = '' }: Operation,
  schema: TSchema,
  named: Map<string, JsonSchema>,
): JsonSchema {
  const shown = shownSchema(schema, named)
  if (shown.type !== 'object') return shown
  const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}`
  if (named.has(name)) throw new Error(`Two schemas of the document are called ${name}`)
  named.set(name, shown)
  return { $ref: `#/components/schemas/${name}` }
}

/** For a form with files, a file as the body, or JSON with its address. */
function takenSchema(
  type: string,
  form: TSchema | undefined,
  named: Map<string, JsonSchema>,
): JsonSchema {
  const fields = form === undefined ? { type: 'object' } : shownSchema(form, named)
  if (type === 'application/json') return fields
  const file = { type: 'string', format: 'binary' }
  if (type !== 'multipart/form-data') return file
  // A form is described by its fields.
  const { properties = {}, required } = fields as {
    readonly properties?: object
    readonly required?: readonly string[]
  }
  const files = { ...file, description: 'A file with its name; send several as several parts' }
  return {
    type: 'object',
    properties: { file: files, ...properties },
    ...(required === undefined ? {} : { required }),
  }
}

/** JSON can also be one of the files. */
function fileOr(type: string, schema: JsonSchema): JsonSchema {
  if (type !== 'application/json') return schema
  return { anyOf: [schema, { description: 'Other JSON is stored as a file' }] }
}

/** How a route reports a failure. */
function failureContent(
  { path, failsAs }: Operation,
  named: Map<string, JsonSchema>,
): Readonly<Record<string, object>> {
  const json = isOpenAiPath(path) ? OPENAI_FAILURE : failsAs
  const own = json === undefined ? {} : { 'application/json': { schema: shownSchema(json, named) } }
  if (isOpenAiPath(path)) return own
  return { ...own, 'application/problem+json': { schema: shownSchema(PROBLEM, named) } }
}

/** The failures common to all routes of a kind, besides its own. */
function expectedFailures(declared: Operation): Record<string, string> {
  const { path, body, query, takes, needs } = declared
  const hasBody = body !== undefined || takes !== undefined
  return {
    ...(hasBody || query !== undefined ? { 400: 'The request is invalid' } : {}),
    ...(needs === 'nothing'
      ? {}
      : { 401: 'A login is required', 403: 'The caller may not do this' }),
    ...(path.includes(':') ? { 404: 'The resource does not exist' } : {}),
    ...(hasBody ? { 413: 'The body is larger than the limit' } : {}),
    ...(body === undefined ? {} : { 415: 'The body is not declared as JSON' }),
  }
}

function responsesOf(declared: Operation, named: Map<string, JsonSchema>) {
  const { answers = {}, produces } = declared
  const hasSuccess = Object.keys(answers).some((status) => Number(status) < 400)
  const all: Readonly<Record<string, DeclaredAnswer>> = {
    ...expectedFailures(declared),
    ...(hasSuccess ? {} : { 204: 'Done' }),
    ...answers,
  }
  const failure = failureContent(declared, named)
  const responses = Object.entries(all).map(([status, answer]) => {
    return [status, responseOf(Number(status), answer, { produces, named, failure })] as const
  })
  const other = { description: 'Any other failure', headers: FAILURE_HEADERS, content: failure }
  return { ...Object.fromEntries(responses), default: other }
}

const HEADERS = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }
const FAILURE_HEADERS = { ...HEADERS, 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }

interface AnswerInit {
  readonly produces: string | undefined
  readonly named: Map<string, JsonSchema>
  readonly failure: object
}

function responseOf(
  status: number,
  answer: DeclaredAnswer,
  { produces = 'application/json', named, failure }: AnswerInit,
) {
  const { description, schema, isEmpty, also, headers } = describedAnswer(answer)
  if (status >= 400) {
    const codes = Object.entries(ERRORS).filter(([, error]) => error.status === status)
    const names = codes.map(([code]) => `\`${code}\``).join(', ')
    const told = names === '' ? description : `${description}. Codes of this status: ${names}`
    return {
      description: told,
      headers: status === 429 ? FAILURE_HEADERS : HEADERS,
      content: failure,
    }
  }
  if (status === 204 || isEmpty === true) return { description, headers: HEADERS }
  const [type = produces] = produces.split(';')
  const isBinary = schema === undefined && !/json|^text\//.test(type)
  const plain = isBinary ? { type: 'string', format: 'binary' } : textOrNothing(type)
  const content: Record<string, object> = {
    [type]: { schema: schema === undefined ? plain : shownSchema(schema, named) },
  }
  for (const [other, one] of Object.entries(also ?? {})) {
    content[other] = { schema: shownSchema(one, named) }
  }
  const told = Object.entries(headers ?? {}).map(([name, about]) => {
    return [name, { description: about, schema: { type: 'string' } }] as const
  })
  return {
    description,
    content,
    headers: { ...HEADERS, ...Object.fromEntries(told) },
  }
}

function describedAnswer(answer: DeclaredAnswer): DescribedAnswer {
  if (typeof answer === 'string') return { description: answer }
  if (!('length' in answer)) return answer
  const [description, schema] = answer
  return { description, schema }
}

function textOrNothing(type: string): JsonSchema {
  return type.startsWith('text/') ? { type: 'string' } : {}
}
