/** A server of somebody else whose tools an agent may call, over the Model Context Protocol (streamable HTTP). */
export interface McpServer {
  /** Its tools are called `<name>__<tool>`. */
  readonly name: string
  /** Parts of it may be secret, see `shownUrl`. */
  readonly url: string
  /** Secret, all of them. */
  readonly headers: Readonly<Record<string, string>>
  /** Names of tools or globs over them: no other one is called. */
  readonly tools: readonly string[]
}

/** How a stored secret is shown. Sent back by a client that saves what it read, it means "leave as it is". */
export const MCP_MASK = '******'

/** A part of a path that looks like a key: long, with a digit, and no word. */
const KEY_PART = /^(?=.*\d)[\w.~=-]{20,}$/

/** The address without what may be a key: every value of the query, and what looks like one in the path. */
export function shownUrl({ url }: Pick<McpServer, 'url'>): string {
  const shown = new URL(url)
  const path = shown.pathname.split('/').map((part) => (KEY_PART.test(part) ? MCP_MASK : part))
  const query = [...shown.searchParams.keys()].map(
    (key) => `${encodeURIComponent(key)}=${MCP_MASK}`,
  )
  return `${shown.origin}${path.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/**
 * What is taken out of texts, so that nobody reads it: not every header is a key, and a word such as `issues` in one would
 * be missing everywhere.
 */
export function secretsOfMcpServer({ url, headers }: McpServer): readonly string[] {
  const { searchParams, pathname } = new URL(url)
  const named = [...Object.entries(headers), ...searchParams]
  const values = named.flatMap(([name, value]) => {
    const parts = [value, ...value.split(/\s+/).slice(1)]
    return parts.filter((part) => (SECRET_NAME.test(name) ? part.length >= 6 : isKeyLike(part)))
  })
  return [...values, ...pathname.split('/').filter((part) => KEY_PART.test(part))]
}

const SECRET_NAME = /auth|key|token|secret|password|credential|cookie|signature/i

function isKeyLike(text: string): boolean {
  return text.length >= 12 && /\d/.test(text)
}
