import ipaddr from 'ipaddr.js'
import { AppError } from '../../errors.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Which addresses the crawler may ask: public ones, and those that the operator names. */
export interface UrlPolicy {
  readonly hosts: ReadonlySet<string>
  readonly blocks: readonly (readonly [Address, number])[]
}

const SETTING = 'EIDER_CRAWL_ALLOW'
const ADDRESS_BITS = { ipv4: 32, ipv6: 128 } as const

/**
 * @param entries hosts, addresses and CIDR blocks that may be asked although they are not public
 * @throws AppError `invalid_request` for an entry that is neither
 */
export function urlPolicy(entries: readonly string[]): UrlPolicy {
  const hosts = new Set<string>()
  const blocks: (readonly [Address, number])[] = []
  for (const entry of entries) {
    const bare = entry.replace(/^\[(.*)\]$/, '$1')
    if (ipaddr.isValidCIDR(bare)) blocks.push(ipaddr.parseCIDR(bare))
    else if (ipaddr.isValid(bare)) {
      const address = ipaddr.process(bare)
      blocks.push([address, ADDRESS_BITS[address.kind()]])
    } else hosts.add(hostOf(entry))
  }
  return { hosts, blocks }
}

function hostOf(entry: string): string {
  const url = /[\s:/@?#*]/.test(entry) ? null : URL.parse(`http://${entry}/`)
  if (url !== null) return withoutDot(url.hostname)
  const expected = 'expected a host, an address or a CIDR block'
  throw new AppError('invalid_request', `${SETTING}: ${expected}, found "${entry.slice(0, 80)}"`)
}

/** `example.com.` is `example.com`. */
export function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host
}

/**
 * An address as it is fetched: http or https, without credentials, without fragment.
 * @throws AppError `address_refused`
 */
export function crawlableUrl(text: string, base?: string): URL {
  const shown = JSON.stringify(text.slice(0, 200))
  if (text.length > INGEST_LIMITS.urlCharsMax) {
    const limit = `has more than ${INGEST_LIMITS.urlCharsMax} characters`
    throw new AppError('address_refused', `The address ${shown} ${limit}`)
  }
  const url = URL.parse(text, base)
  if (url === null) throw new AppError('address_refused', `${shown} is not an address`)
  if (url.username !== '' || url.password !== '') {
    // The address is not shown: it holds a secret.
    throw new AppError('address_refused', `An address of ${url.hostname} holds a user or password`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AppError('address_refused', `The address ${shown} is neither http nor https`)
  }
  url.hash = ''
  url.hostname = withoutDot(url.hostname)
  return url
}

/**
 * Every address that a host has must be allowed: which one a connection takes is chance.
 * @throws AppError `address_refused`
 */
export function requireAllowed(
  host: string,
  addresses: readonly string[],
  policy: UrlPolicy,
): void {
  if (policy.hosts.has(host)) return
  const refused = addresses.find((address) => !isAllowed(address, policy))
  if (refused === undefined) return
  const where = host === refused || host === `[${refused}]` ? host : `${host} (${refused})`
  const how = `${SETTING} can name it`
  throw new AppError('address_refused', `${where} is not a public address; ${how}`)
}

function isAllowed(text: string, policy: UrlPolicy): boolean {
  if (!ipaddr.isValid(text)) return false
  // An IPv4 address within an IPv6 one is judged as what it is.
  const address = ipaddr.process(text)
  if (policy.blocks.some(([block, bits]) => isWithin(address, block, bits))) return true
  return isPublic(address)
}

function isWithin(address: Address, block: Address, bits: number): boolean {
  return address.kind() === block.kind() && address.match(block, bits)
}

/** Only 2000::/3 is handed out for global use (RFC 4291); ipaddr.js calls unassigned space unicast. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return !('parts' in address) || (address.parts[0] ?? 0) >> 13 === 1
}
