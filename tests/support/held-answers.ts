/**
 * Checks responses against the OpenAPI document, in every test that uses `createTestApp` or the
 * HTTP fixture. A response or a field that the document does not describe fails the test.
 */
import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv/dist/2020'

export interface HeldRequest {
  /** The request, such as `GET /api/jobs?limit=1`. */
  readonly line: string
  /** The JSON that was sent, or undefined. */
  readonly body?: unknown
}

export interface HeldAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Media {
  readonly schema: object
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Media>> }>
  >
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Routes whose answers have no schema yet. The list must only shrink. */
const STILL_TO_COME: ReadonlySet<string> = new Set([])

let held: Promise<HeldDocument> | undefined

/**
 * @param document the OpenAPI document of the app that responded. The first one is kept
 * @throws Error that names the route and the difference
 */
export async function holdAnswer(
  document: () => Promise<object>,
  request: HeldRequest,
  answer: HeldAnswer,
): Promise<void> {
  held ??= document().then((one) => new HeldDocument(one as Document))
  ;(await held).check(request, answer)
}

class HeldDocument {
  readonly #ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false })
  readonly #document: Document
  readonly #routes: readonly { readonly path: string; readonly pattern: RegExp }[]
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: Document) {
    this.#document = document
    this.#ajv.addSchema(closed(document) as object, 'document')
    const parameters = (path: string) => path.split('{').length
    this.#routes = Object.keys(document.paths)
      .toSorted((one, two) => parameters(one) - parameters(two))
      .map((path) => ({ path, pattern: new RegExp(`^${patternOf(path)}/?$`) }))
  }

  check(request: HeldRequest, { status, headers, text }: HeldAnswer): void {
    const [verb = '', target = ''] = request.line.split(' ')
    const [pathname = ''] = target.split('?')
    const path = this.#routes.find(({ pattern }) => pattern.test(pathname))?.path
    const method = verb.toLowerCase()
    const operation = path === undefined ? undefined : this.#document.paths[path]?.[method]
    if (path === undefined || operation === undefined) return
    const name = `${verb} ${path}`
    const [type = ''] = (headers.get('content-type') ?? '').split(';')
    const place = ['paths', path, method]
    const response = operation.responses[status] === undefined ? 'default' : String(status)
    if (response === 'default' && status < 400) {
      throw new Error(`${name} answers ${status}: add that status to route({answers})`)
    }
    if (status < 300) this.#checkBody(name, place, operation, request.body)
    const { content } = operation.responses[response] ?? {}
    if (text === '' || status === 204) return
    const media = content?.[type]
    if (media === undefined) {
      const known = Object.keys(content ?? {}).join(', ')
      const how = 'name it by "produces", or as "also" of the answer'
      throw new Error(`${name} answers ${status} as ${type}, documented are ${known}: ${how}`)
    }
    const what = `the answer ${status} of ${name}`
    const schema = [...place, 'responses', response, 'content', type, 'schema']
    if (/[/+]json$/.test(type)) {
      if (Object.keys(media.schema).length === 0) {
        if (STILL_TO_COME.has(name)) return
        const how = 'route({answers: {200: {description, schema}}}) takes its TypeBox schema'
        throw new Error(
          `${what} has no schema in the document: ${how} (src/api/http/answers/records)`,
        )
      }
      this.#hold(what, schema, JSON.parse(text))
    }
    const isText = 'type' in media.schema && media.schema.type === 'string'
    if (type === 'text/event-stream' && !isText) {
      const chunks = text.split('\n').filter((line) => line.startsWith('data: {'))
      for (const chunk of chunks)
        this.#hold(`an event of ${what}`, schema, JSON.parse(chunk.slice(6)))
    }
  }

  /** A body that was accepted must match the document. */
  #checkBody(name: string, place: readonly string[], operation: Operation, body: unknown): void {
    if (body === undefined || operation.requestBody?.content['application/json'] === undefined)
      return
    const schema = [...place, 'requestBody', 'content', 'application/json', 'schema']
    this.#hold(`the body of ${name}, which was taken,`, schema, body)
  }

  #hold(what: string, place: readonly string[], value: unknown): void {
    const pointer = place.map(escaped).join('/')
    let validate = this.#validators.get(pointer)
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `document#/${pointer}` })
      this.#validators.set(pointer, validate)
    }
    if (validate(value)) return
    const found = (validate.errors ?? []).map(told).slice(0, 8)
    const shown = JSON.stringify(value).slice(0, 600)
    const message = `${what} is not what the OpenAPI document says (its schema is next to the route):`
    throw new Error([message, ...found, shown].join('\n  '))
  }
}

function told({ instancePath, message = '', params }: ErrorObject): string {
  return `${instancePath || 'the whole'}: ${message} ${JSON.stringify(params)}`
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function patternOf(path: string): string {
  return path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
}

/** Undocumented fields are refused, because readers of the document may not know them. */
function closed(value: unknown, key = ''): unknown {
  if (key === 'examples' || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => closed(one))
  const entries = Object.entries(value).map(([name, one]) => [name, closed(one, name)])
  const isOpen = 'properties' in value && !('additionalProperties' in value)
  const schema = Object.fromEntries(entries)
  return isOpen && key !== 'properties' ? { ...schema, additionalProperties: false } : schema
}
