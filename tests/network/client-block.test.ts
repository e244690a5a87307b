import { expect, test } from 'bun:test'
import { clientBlock } from '../../src/network/client-block.ts'

test('a client is its IPv4 address, or the /64 of its IPv6 address', () => {
  const blocks = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::ffff': '2001:db8:1:2::/64',
    '::1': '::/64',
    'fe80::1%eth0': 'fe80::/64',
    unknown: 'unknown',
  }
  for (const [address, block] of Object.entries(blocks)) expect(clientBlock(address)).toBe(block)
})
