/** An OpenTelemetry collector that remembers the spans that it received as JSON. */
export interface SentSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number; readonly message?: string }
  readonly resource: Readonly<Record<string, unknown>>
}

export interface SentRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
}

export interface Collector {
  readonly url: string
  readonly requests: readonly SentRequest[]
  /** The spans of all requests so far. */
  readonly spans: () => readonly SentSpan[]
  close(): void
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Scopes {
  readonly resource: { readonly attributes: readonly Attribute[] }
  readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[]
}

type RawSpan = Omit<SentSpan, 'attributes' | 'resource'> & {
  readonly attributes: readonly Attribute[]
}

/** @param answer the answer to each request, by default 200 */
export function collector(
  answer: () => Response | Promise<Response> = () => Response.json({}),
): Collector {
  const requests: SentRequest[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const bytes = new Uint8Array(await request.arrayBuffer())
      const headers = Object.fromEntries(request.headers)
      requests.push({ path: new URL(request.url).pathname, headers, bytes })
      return answer()
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    spans: () => requests.flatMap(({ bytes }) => spansOf(new TextDecoder().decode(bytes))),
    close: () => void server.stop(true),
  }
}

function spansOf(text: string): readonly SentSpan[] {
  const { resourceSpans } = JSON.parse(text) as { resourceSpans: readonly Scopes[] }
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    return scopeSpans.flatMap(({ spans }) => {
      return spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      }))
    })
  })
}

function valuesOf(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { arrayValue, ...plain } = value
      const list = arrayValue as
        | { values: readonly Readonly<Record<string, unknown>>[] }
        | undefined
      return [key, list?.values.map((one) => Object.values(one)[0]) ?? Object.values(plain)[0]]
    }),
  )
}
