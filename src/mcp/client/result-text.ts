import { isDeepStrictEqual } from 'node:util'

type Members = Readonly<Record<string, unknown>>

/** Parts of a result that are looked at. */
const PARTS_MAX = 200

/**
 * What a result says, as text: its text parts, structured content as JSON unless a part says the same; images, sounds and
 * files are named, not shown.
 */
export function resultText(result: Members): string {
  const content = Array.isArray(result.content) ? result.content : []
  const parts = content.slice(0, PARTS_MAX).map(partText)
  if (content.length > PARTS_MAX) parts.push(`(${content.length - PARTS_MAX} more parts)`)
  const { structuredContent: structured } = result
  if (isMembers(structured) && !parts.some((part) => isDeepStrictEqual(parsed(part), structured))) {
    parts.push(JSON.stringify(structured))
  }
  return parts.filter((part) => part !== '').join('\n')
}

function partText(part: unknown): string {
  if (!isMembers(part)) return ''
  const { type, text, mimeType, data, resource, uri, name } = part
  if (type === 'text') return shown(text)
  if (type === 'image' || type === 'audio') {
    return `[${type} of the type ${word(mimeType)}, ${base64Bytes(data)} bytes, not shown]`
  }
  if (type === 'resource_link') return `[resource ${word(name)}: ${word(uri)}]`
  if (type !== 'resource' || !isMembers(resource))
    return `[a part of the type ${word(type)}, not shown]`
  if (typeof resource.text === 'string') return `[resource ${word(resource.uri)}]\n${resource.text}`
  const what = `${word(resource.uri)} of the type ${word(resource.mimeType)}`
  return `[resource ${what}, ${base64Bytes(resource.blob)} bytes, not shown]`
}

function shown(text: unknown): string {
  return typeof text === 'string' ? text : ''
}

function word(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, 300) : 'unknown'
}

function base64Bytes(data: unknown): number {
  return typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
