import ipaddr from 'ipaddr.js'

/** What one IPv6 client usually has for itself. */
const IPV6_CLIENT_BITS = 64

/**
 * Whom an address counts as: an IPv4 address for itself, an IPv6 address as its /64, from which one machine has as many
 * addresses as it likes. What is not an address stays as it is.
 */
export function clientBlock(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const found = ipaddr.process(address)
  if (found.kind() === 'ipv4') return found.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${IPV6_CLIENT_BITS}`)
  return `${network.toString()}/${IPV6_CLIENT_BITS}`
}
