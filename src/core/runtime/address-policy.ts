import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { AppError } from '../errors.ts'
import { abortable } from './cancellation.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Which addresses may be connected to: public ones, and those that the operator names. */
export interface AddressPolicy {
  /** The setting that allows more, for messages. */
  readonly setting: string
  /** Private addresses too. */
  readonly isOpen: boolean
  readonly hosts: ReadonlySet<string>
  readonly blocks: readonly (readonly [Address, number])[]
}

const ADDRESS_BITS = { ipv4: 32, ipv6: 128 } as const

/** @throws AppError `invalid_request` for an entry that is not a host, address or CIDR block */
export function addressPolicy(given: {
  readonly setting: string
  /** Hosts, addresses and CIDR blocks that are allowed though not public. */
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

/** `example.com.` is `example.com`. */
export function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host
}

/** All addresses of the host: the operator has named it, or allows all. */
export function isTrustedHost(host: string, policy: AddressPolicy): boolean {
  return policy.isOpen || policy.hosts.has(withoutDot(host))
}

/**
 * All addresses of a host must be allowed, because a connection may take any of them.
 * @throws AppError `address_refused`
 */
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
  // An IPv4 address within an IPv6 one is judged as what it is.
  const address = ipaddr.process(text)
  if (policy.blocks.some(([block, bits]) => isInBlock(address, block, bits))) return true
  return isPublic(address)
}

function isInBlock(address: Address, block: Address, bits: number): boolean {
  return address.kind() === block.kind() && address.match(block, bits)
}

/** Only 2000::/3 is handed out for global use (RFC 4291); ipaddr.js calls unassigned space unicast. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return !('parts' in address) || (address.parts[0] ?? 0) >> 13 === 1
}

/** What one IPv6 client usually has for itself. */
const IPV6_CLIENT_BITS = 64

/**
 * The client behind an address: an IPv4 address itself, the /64 of an IPv6 address, in which one machine can have any
 * number. Anything else is returned as it is.
 */
export function clientBlock(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const found = ipaddr.process(address)
  if (found.kind() === 'ipv4') return found.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${IPV6_CLIENT_BITS}`)
  return `${network.toString()}/${IPV6_CLIENT_BITS}`
}

/** What reaches the network, passed in so that a test decides what a name means. */
export interface Network {
  /** All addresses of a host. */
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
 * Fetches from a checked address only: the host is resolved, every address of it is checked, and the connection goes to
 * exactly the address that was checked, so that a name which changes its meaning in between gains nothing. A connection that
 * is kept belongs to its address, and with TLS to the name whose certificate was checked. A redirect is an answer like any
 * other. A proxy of the environment is not used, because the check would be its affair then.
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
    // Bun 1.4: `false` is the one value that ignores HTTP_PROXY; its type does not know it.
    ...NO_PROXY,
  })
}

const NO_PROXY: object = { proxy: false }

/**
 * An address of the host, if all of its addresses are allowed.
 * @throws AppError `address_refused`; Error for a host that has none
 */
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

/** Limit for resolving when an address is named; the connection resolves it again. */
const RESOLVE_MS = 3_000

/**
 * Checks an address before storing it. One that does not resolve passes.
 * @throws AppError `address_refused`
 */
export async function checkNamedAddress(url: URL, guard: Guard): Promise<void> {
  if (isTrustedHost(url.hostname, guard.policy)) return
  try {
    await checkedAddress(url, guard, AbortSignal.timeout(RESOLVE_MS))
  } catch (error) {
    if (error instanceof AppError) throw error
  }
}

/** A resolver takes no signal, so it is abandoned at the timeout. */
async function addressesOf(
  url: URL,
  network: Network,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (host !== url.hostname || /^[\d.]+$/.test(host)) return [host]
  return abortable(network.resolve(host), signal)
}
