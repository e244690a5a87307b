import { describe, expect, test } from 'bun:test'
import {
  type AddressPolicy,
  addressPolicy,
  clientBlock,
  requireAllowed,
} from '../../src/core/runtime/address-policy.ts'
import { crawlableUrl } from '../../src/ingest/sources/guarded-fetch.ts'

function crawling(entries: readonly string[]): AddressPolicy {
  return addressPolicy({ setting: 'EIDER_CRAWL_ALLOW', entries })
}

const strict = crawling([])

describe('addresses that are not public are refused', () => {
  for (const address of [
    '127.0.0.1',
    '127.255.0.3',
    '0.0.0.0',
    '0.1.2.3',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '192.0.0.8',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '4000::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'not an address',
  ]) {
    test(address, () => {
      const check = () => requireAllowed('a.test', [address], strict)
      expect(check).toThrow(
        `a.test (${address}) is not a public address; EIDER_CRAWL_ALLOW can name it`,
      )
    })
  }

  test('and one of several is enough', () => {
    const check = () => requireAllowed('a.test', ['93.184.216.34', '10.0.0.1'], strict)
    expect(check).toThrow('a.test (10.0.0.1) is not a public address')
  })

  test('public ones are not', () => {
    requireAllowed('a.test', ['93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8'], strict)
  })
})

describe('what the operator names is allowed', () => {
  const policy = crawling(['wiki.local', '10.1.0.0/16', '127.0.0.1', '[fd00::1]', 'fd12::/32'])

  test('hosts, addresses and blocks, and nothing beside them', () => {
    requireAllowed('wiki.local', ['10.9.9.9'], policy)
    requireAllowed('a.test', ['10.1.2.3', '127.0.0.1', '::ffff:127.0.0.1', 'fd00::1'], policy)
    for (const address of ['10.2.0.1', '127.0.0.2', 'fd00::2', 'fd13::1']) {
      expect(() => requireAllowed('a.test', [address], policy)).toThrow('not a public address')
    }
    expect(() => requireAllowed('x.wiki.local', ['10.9.9.9'], policy)).toThrow()
  })

  test('any other entry is refused', () => {
    for (const entry of ['10.0.0.0/99', 'http://a.test', 'a.test/x', 'a.test:80', 'a b']) {
      expect(() => crawling([entry])).toThrow('EIDER_CRAWL_ALLOW: expected a host')
    }
  })
})

describe('an address of the web', () => {
  test('is written in one way', () => {
    expect(crawlableUrl('HTTP://A.Test.:80/x?b=1#top').href).toBe('http://a.test/x?b=1')
    const loopback = ['http://0x7f.1', 'http://2130706433', 'http://127.1', 'http://①②⑦.0.0.1']
    expect(loopback.map((url) => crawlableUrl(url).hostname)).toEqual(
      loopback.map(() => '127.0.0.1'),
    )
    expect(crawlableUrl('http://localhost./').hostname).toBe('localhost')
  })

  test('is http or https, without credentials, and not endless', () => {
    for (const url of ['ftp://a.test/', 'file:///etc/passwd', 'javascript:1', 'data:,x', 'a', '']) {
      expect(() => crawlableUrl(url)).toThrow(/address/)
    }
    expect(() => crawlableUrl('http://user:secret@a.test/')).toThrow(
      'An address of a.test holds a user or password',
    )
    expect(() => crawlableUrl(`http://a.test/${'x'.repeat(3000)}`)).toThrow('2048 characters')
  })
})

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
