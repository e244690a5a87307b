import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { AppError } from '../errors.ts'
import { abortable } from './cancellation.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Decides which addresses the server may connect to: public ones, and those the operator lists. */
export interface AddressPolicy {
  /** The setting that allows more addresses, named in messages. */
  readonly setting: string
  /** Whether private addresses are allowed too. */
  readonly isOpen: boolean
  readonly hosts: ReadonlySet<string>
  readonly blocks: readonly (readonly [Address, number])[]
}

const ADDRESS_BITS = { ipv4: 32, ipv6: 128 } as const

/** @throws AppError `invalid_request` for an entry that is not a host, address or CIDR block */
export function addressPolicy(given: {
  readonly setting: string
  /** Hosts, addresses and CIDR blocks that are allowed although they are not public. */
  readonly entries: readonly string[]
  readonly isOpen?: boolean
}): AddressPolicy {
  const { setting, entries, isOpen = false } = given
  const hosts = new Set<string>()
  const blocks: (readonly [Address, number])[] = []
  for (const entry of entries) {
    const bare = entry.replace(/^\[(.*)\]$/, '$1')
    if (ipaddr.isValidCIDR(bare)) blocks.push(ipaddr.parseCIDR(bare))
    else if (ipaddr.isValid(bare)) {
      const address = ipaddr.process(bare)
      blocks.push([address, ADDRESS_BITS[address.kind()]])
    } else hosts.add(hostOf(entry, setting))
  }
  return { setting, isOpen, hosts, blocks }
}

function hostOf(entry: string, setting: string): string {
  const url = /[\s:/@?#*]/.test(entry) ? null : URL.parse(`http://${entry}/`)
  if (url !== null) return withoutDot(url.hostname)
  const expected = 'expected a host, an address or a CIDR block'
  throw new AppError('invalid_request', `${setting}: ${expected}, found "${entry.slice(0, 80)}"`)
}

/** Removes the dot at the end: `example.com.` becomes `example.com`. */
export function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host
}

/** Whether all the host's addresses are allowed: the operator lists it or allows everything. */
export function isTrustedHost(host: string, policy: AddressPolicy): boolean {
  return policy.isOpen || policy.hosts.has(withoutDot(host))
}

/** A connection may use any of them. @throws AppError `address_refused` */
export function requireAllowed(
  host: string,
  addresses: readonly string[],
  policy: AddressPolicy,
): void {
  if (isTrustedHost(host, policy)) return
  const refused = addresses.find((address) => !isAllowed(address, policy))
  if (refused === undefined) return
  const where = host === refused || host === `[${refused}]` ? host : `${host} (${refused})`
  const how = `${policy.setting} can name it`
  throw new AppError('address_refused', `${where} is not a public address; ${how}`)
}

function isAllowed(text: string, policy: AddressPolicy): boolean {
  if (!ipaddr.isValid(text)) return false
  // Treats an IPv4 address embedded in an IPv6 address as IPv4.
  const address = ipaddr.process(text)
  if (policy.blocks.some(([block, bits]) => isInBlock(address, block, bits))) return true
  return isPublic(address)
}

function isInBlock(address: Address, block: Address, bits: number): boolean {
  return address.kind() === block.kind() && address.match(block, bits)
}

/** Only 2000::/3 is assigned (RFC 4291), but ipaddr.js says unicast for more. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return !('parts' in address) || (address.parts[0] ?? 0) >> 13 === 1
}

/** The prefix length of the block that usually belongs to one IPv6 client. */
const IPV6_CLIENT_BITS = 64

/** IPv4 as it is, or an IPv6 /64 block, in which one machine can have any address. */
export function clientBlock(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const found = ipaddr.process(address)
  if (found.kind() === 'ipv4') return found.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${IPV6_CLIENT_BITS}`)
  return `${network.toString()}/${IPV6_CLIENT_BITS}`
}

export interface Network {
  resolve(host: string): Promise<readonly string[]>
  fetch(url: string, init: BunFetchRequestInit): Promise<Response>
}

export const internet: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  fetch: (url, init) => fetch(url, init),
}

export interface Guard {
  readonly policy: AddressPolicy
  readonly network: Network
}

/**
 * Resolves the host, checks every address, and connects to exactly the checked address, so that a
 * DNS answer that changes in between has no effect. Connections are reused only for the same
 * address and, with TLS, the same verified host name. Redirects are returned like any other
 * response. Proxies from the environment are ignored, because a proxy would resolve the name
 * itself.
 * @throws AppError `address_refused`
 */
export async function pinnedFetch(
  url: URL,
  init: BunFetchRequestInit,
  guard: Guard,
  signal: AbortSignal,
): Promise<Response> {
  const address = await checkedAddress(url, guard, signal)
  const target = new URL(url)
  target.hostname = address.includes(':') ? `[${address}]` : address
  const headers = new Headers(init.headers)
  headers.set('host', url.host)
  return guard.network.fetch(target.href, {
    ...init,
    headers,
    redirect: 'manual',
    signal,
    ...(url.protocol === 'https:' ? { tls: { serverName: url.hostname } } : {}),
    // Bun 1.4 ignores HTTP_PROXY only for `false`, which its type does not allow.
    ...NO_PROXY,
  })
}

const NO_PROXY: object = { proxy: false }

/** @throws AppError `address_refused`; Error for a host without an address */
export async function checkedAddress(
  url: URL,
  { policy, network }: Guard,
  signal: AbortSignal,
): Promise<string> {
  const addresses = await addressesOf(url, network, signal)
  requireAllowed(url.hostname, addresses, policy)
  const [address] = addresses
  if (address === undefined) throw new Error(`${url.hostname} has no address`)
  return address
}

/** Time limit for resolving an address before it is stored; each connection resolves it again. */
const RESOLVE_MS = 3_000

/** Before it is stored. A name that does not resolve is accepted. @throws AppError */
export async function checkNamedAddress(url: URL, guard: Guard): Promise<void> {
  if (isTrustedHost(url.hostname, guard.policy)) return
  try {
    await checkedAddress(url, guard, AbortSignal.timeout(RESOLVE_MS))
  } catch (error) {
    if (error instanceof AppError) throw error
  }
}

/** DNS lookups cannot be aborted, so after the timeout the result is ignored. */
async function addressesOf(
  url: URL,
  network: Network,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (host !== url.hostname || /^[\d.]+$/.test(host)) return [host]
  return abortable(network.resolve(host), signal)
}
