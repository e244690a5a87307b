/**
 * `npm run release -- prepare 0.2.0` sets the version, gives the changelog its section, stores a
 * data folder of this version for the tests of upgrades, and commits and tags all that. It does not
 * push. `npm run release -- check v0.2.0` checks that this checkout is that release; the release
 * workflow calls it before it builds.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { run } from './build/platforms.ts'
import { changelogSection } from './build/release-notes.ts'
import { packDataFolder } from './data-folder.ts'

const USAGE = 'release prepare <version> | check v<version>'
const UNRELEASED = '## Unreleased\n'

class Refused extends Error {}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // Tests use a copy of the project, and no server to fill a data folder.
    root: { type: 'string', default: join(import.meta.dir, '..') },
    'no-folder': { type: 'boolean', default: false },
  },
})
const root = resolve(values.root)

try {
  const [action, word = ''] = positionals
  if (action === 'prepare') await prepare(word)
  else if (action === 'check') await check(word)
  else throw new Refused(USAGE)
} catch (error) {
  if (!(error instanceof Refused)) throw error
  console.error(`release: ${error.message}`)
  process.exitCode = 1
}

async function prepare(version: string): Promise<void> {
  const manifest = await json('package.json')
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Refused(`expected 1.2.3, found "${version}"`)
  if (Bun.semver.order(version, String(manifest.version)) < 0) {
    throw new Refused(`${version} is older than ${manifest.version} in package.json`)
  }
  if (git('tag', '--list', `v${version}`) !== '') throw new Refused(`v${version} exists already`)
  if (git('status', '--porcelain') !== '') throw new Refused('commit or stash your changes first')
  const changelog = await text('CHANGELOG.md')
  const date = new Date().toISOString().slice(0, 10)
  const heading = `${UNRELEASED}\n## ${version} (${date})\n`
  const released = changelog.replace(UNRELEASED, heading)
  if (changelogSection(released, version) === null) {
    throw new Refused('CHANGELOG.md has nothing under "## Unreleased"')
  }
  await writeFile(join(root, 'CHANGELOG.md'), released)
  await write('package.json', { ...manifest, version })
  const lock = await json('package-lock.json')
  const packages = Object(lock.packages)
  const own = { ...Object(packages['']), version }
  await write('package-lock.json', { ...lock, version, packages: { ...packages, '': own } })
  if (!values['no-folder']) await packDataFolder(version, root)
  git('add', '--all')
  git('commit', '--quiet', '--message', `build(release): ${version}`)
  git('tag', '--annotate', `v${version}`, '--message', `Eider ${version}`)
  console.log(`v${version} is tagged. Next: git push --follow-tags`)
}

async function check(tag: string): Promise<void> {
  const { version } = await json('package.json')
  if (tag !== `v${version}`) throw new Refused(`${tag} is not v${version} of package.json`)
  if (changelogSection(await text('CHANGELOG.md'), String(version)) === null) {
    throw new Refused(`CHANGELOG.md has no section "## ${version} (date)"`)
  }
  console.log(`${tag} is ready to build`)
}

function git(...args: readonly string[]): string {
  return run(['git', ...args], root).trim()
}

function text(path: string): Promise<string> {
  return readFile(join(root, path), 'utf8')
}

async function json(path: string): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse(await text(path))
}

function write(path: string, value: object): Promise<void> {
  return writeFile(join(root, path), `${JSON.stringify(value, null, 2)}\n`)
}
