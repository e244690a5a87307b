import { lookup } from 'node:dns/promises'
import { AppError } from '../errors.ts'
import { type AddressPolicy, isTrustedHost, requireAllowed } from './address-policy.ts'
import { abortable } from './cancellation.ts'

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
 * An address of the host, all of which may be connected to.
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

/** A resolver that takes longer says nothing when an address is named; the connection asks again. */
const RESOLVE_MS = 3_000

/**
 * Checks an address that somebody names, before it is stored. One that nobody resolves passes.
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

/** A resolver knows no signal: it is left behind when time is up. */
async function addressesOf(
  url: URL,
  network: Network,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (host !== url.hostname || /^[\d.]+$/.test(host)) return [host]
  return abortable(network.resolve(host), signal)
}
