import { expect, test } from 'bun:test'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import lockFile from '../../package-lock.json' with { type: 'json' }
import {
  foreignAddresses,
  type LockFile,
  missingPlatforms,
  packedFiles,
  storedData,
  trackedPaths,
  trackedTextFiles,
  unwantedPackages,
} from './tracked-files.ts'

const ROOT = join(import.meta.dir, '../..')
const lock: LockFile = lockFile

/** Loopback registries have no name that could be revealed. */
function configuredRegistryHosts(): readonly string[] {
  const address = process.env.npm_config_registry ?? ''
  const host = URL.canParse(address) ? new URL(address).host : ''
  return host === '' || /^(localhost|127\.|\[?::1)/.test(host) ? [] : [host]
}

test('no file names a registry or a folder of a developer’s machine', async () => {
  const files = await trackedTextFiles(ROOT)
  expect(files.map((file) => file.path)).toContain('package.json')
  const own = files.filter((file) => !file.path.startsWith('tests/structure/tracked-files'))
  expect(foreignAddresses(own, configuredRegistryHosts())).toEqual([])
})

test('planted addresses and paths are found, routes and web addresses are not', () => {
  const text = [
    'see https://registry.example.org/left-pad',
    "const folder = '/tmp/eider/data'",
    'from packages.example:4873',
    'GET /api/tmp/x and https://example.org/home/user/page and ./tmp/x',
  ].join('\n')
  expect(foreignAddresses([{ path: 'a.md', text }], ['packages.example:4873'])).toEqual([
    'a.md:1: registry.example.org',
    'a.md:2: /tmp/eider/data',
    'a.md:3: packages.example:4873',
  ])
})

test('no file of a data folder is among them', async () => {
  expect(storedData(await trackedPaths(ROOT))).toEqual([])
})

test('planted files of a data folder are found', () => {
  const paths = ['eider-data.duckdb', 'x/eider-data.duckdb.wal', 'eider.key', 'src/eider.ts']
  expect(storedData(paths)).toEqual(paths.slice(0, 3))
})

test('no packed file is among them', async () => {
  expect(packedFiles(await trackedPaths(ROOT))).toEqual([])
  expect(packedFiles(['npm/a-1.0.0.tgz', 'src/a.ts'])).toEqual(['npm/a-1.0.0.tgz'])
})

test('the lock file serves every platform', () => {
  const locked = Object.keys(lock.packages).map((path) => path.replace(/^node_modules\//, ''))
  expect(locked.filter((name) => /^@duckdb\/node-bindings-/.test(name))).toHaveLength(8)
  const systems = ['darwin', 'linux', 'windows'].flatMap((system) =>
    ['x64', 'aarch64'].map((processor) => `@oven/bun-${system}-${processor}`),
  )
  expect(systems.filter((name) => !locked.includes(name))).toEqual([])
  expect(missingPlatforms(lock)).toEqual([])
})

test('a planted dropped platform is found', () => {
  const packages = {
    'node_modules/bun': {
      optionalDependencies: { '@oven/bun-a': '1.0.0', '@oven/bun-b': '1.0.0' },
    },
    'node_modules/@oven/bun-a': { version: '1.0.0' },
  }
  expect(missingPlatforms({ packages })).toEqual(['node_modules/bun: @oven/bun-b is not locked'])
})

test('what is installed has no address, runs nothing unknown and reports nothing', () => {
  expect(unwantedPackages(lock, Object.keys(packageJson.allowScripts))).toEqual([])
})

test('planted addresses, scripts and reporters in the lock file are found', () => {
  const packages = {
    'node_modules/a': { resolved: 'https://example.org/a.tgz' },
    'node_modules/b/node_modules/c': { hasInstallScript: true },
    'node_modules/bun': { hasInstallScript: true },
    'node_modules/@scarf/scarf': {},
  }
  expect(unwantedPackages({ packages }, ['bun'])).toEqual([
    'a: has an address',
    'c: has an install script',
    '@scarf/scarf: reports its installation',
  ])
})

test('every dependency is pinned to one version, and the lock file has that one', () => {
  const all: Readonly<Record<string, string>> = {
    ...packageJson.dependencies,
    ...packageJson.devDependencies,
  }
  const loose = Object.entries(all).filter(([name, version]) => {
    return lock.packages[`node_modules/${name}`]?.version !== version
  })
  expect(loose).toEqual([])
})
