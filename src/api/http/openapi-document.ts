/** Builds the OpenAPI 3.1 document from the schemas that check bodies and type answers. */
import { type TSchema, t } from 'elysia'
import { ERRORS } from '../../core/errors.ts'
import { isOpenAiPath, OPENAI_FAILURE, PROBLEM } from './request/error-response.ts'
import { integer, type JsonSchema, shownSchema } from './request/schema-words.ts'
import {
  type DeclaredAnswer,
  type DescribedAnswer,
  type Operation,
  TAGS,
} from './routes/operation.ts'

const OPENAPI_VERSION = '3.1.2'

const ABOUT = `Knowledge bases, agents and SQL over HTTP.

- Bodies are JSON, in UTF-8, unless an operation says otherwise.
- If the server has a login, send \`Authorization: Bearer <token>\` with the token from \`login\` or with a key.
- A failed request returns \`application/problem+json\` with a stable \`code\`, and a \`detail\` that says what to do. Only \`runSql\`
  returns status 200 and \`type: "error"\` for a failed statement.
- Times are UTC, such as \`2026-04-30 12:00:00.000000\`.
- Clients should ignore unknown fields, because later versions may add more.`

/** The parameters used in paths. */
const PATH_PARAMETERS: Readonly<Record<string, TSchema>> = {
  project_name: t.String({
    description: 'The project’s name, case-insensitive',
    examples: ['mindsdb'],
  }),
  knowledge_base_name: t.String({ description: 'The knowledge base’s name', examples: ['teas'] }),
  document_id: t.String({
    description: 'The document’s id, URL-encoded',
    examples: ['1'],
  }),
  agent_name: t.String({
    description: 'The agent’s name, case-insensitive',
    examples: ['sommelier'],
  }),
  conversation_id: t.String({ description: 'The conversation’s id, from the first answer' }),
  trace_id: t.String({ description: 'The answer’s `trace_id`' }),
  job_id: integer({ description: 'The job’s `id`', examples: [7] }),
  job_name: t.String({ description: 'The scheduled job’s name', examples: ['nightly'] }),
  file_name: t.String({ description: 'The file’s name', examples: ['teas.csv'] }),
  view_name: t.String({ description: 'The view’s name', examples: ['cheap_teas'] }),
  key_id: integer({ description: 'The key’s `id`' }),
  user_id: integer({ description: 'The user’s `id`' }),
  response_id: t.String({ description: 'The response’s `id`' }),
  vector_store_id: t.String({ description: 'The knowledge base', examples: ['mindsdb.teas'] }),
  file_id: t.String({ description: 'The file’s `id`' }),
  batch_id: t.String({ description: 'The batch’s `id`' }),
  model: t.String({ description: 'An agent or a knowledge base', examples: ['mindsdb.sommelier'] }),
  source_id: t.String({ description: 'The source’s name or id' }),
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
    servers: [{ url: '/', description: 'The server that sent this document' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token from `login`, or a key. A server without a login needs neither',
        },
      },
      headers: {
        RequestId: {
          description:
            'The request’s id in the logs: the one that the client sent in this header, or a new one',
          schema: { type: 'string' },
        },
        RetryAfter: {
          description: 'Seconds to wait before you retry, if a retry makes sense',
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
    // In OpenAPI 3.1, a bearer scheme can list roles; here they are scopes.
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

/** Names an unnamed body after its operation (`CreateAgent`), for generated types. */
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

/** The body of an upload: a form with files, a file, or JSON with a URL. */
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
  const files = {
    ...file,
    description: 'A file with its name; send several files as several parts',
  }
  return {
    type: 'object',
    properties: { file: files, ...properties },
    ...(required === undefined ? {} : { required }),
  }
}

/** Adds a plain file as an alternative, because an uploaded file can be JSON too. */
function fileOr(type: string, schema: JsonSchema): JsonSchema {
  if (type !== 'application/json') return schema
  return { anyOf: [schema, { description: 'Any other JSON is stored as a file' }] }
}

function failureContent(
  { path, failsAs }: Operation,
  named: Map<string, JsonSchema>,
): Readonly<Record<string, object>> {
  const json = isOpenAiPath(path) ? OPENAI_FAILURE : failsAs
  const own = json === undefined ? {} : { 'application/json': { schema: shownSchema(json, named) } }
  if (isOpenAiPath(path)) return own
  return { ...own, 'application/problem+json': { schema: shownSchema(PROBLEM, named) } }
}

/** A route's own failures, plus those common to all routes of its kind. */
function expectedFailures(declared: Operation): Record<string, string> {
  const { path, body, query, takes, needs } = declared
  const hasBody = body !== undefined || takes !== undefined
  return {
    ...(hasBody || query !== undefined ? { 400: 'The request is invalid' } : {}),
    ...(needs === 'nothing'
      ? {}
      : {
          401: 'The request needs a login',
          403: 'The caller’s scopes or projects do not allow this',
        }),
    ...(path.includes(':') ? { 404: 'The resource does not exist' } : {}),
    ...(hasBody ? { 413: 'The body is larger than the limit' } : {}),
    ...(body === undefined ? {} : { 415: 'The content type is not JSON' }),
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
