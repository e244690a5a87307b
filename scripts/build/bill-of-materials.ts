/** Lists what a file contains, as an SBOM (CycloneDX 1.6) and as one text with all licences. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import { packageFolder } from './platforms.ts'

interface Component {
  readonly name: string
  readonly version: string
  readonly license: string
  /** The archive's digest from the lock file. */
  readonly integrity?: string
  readonly texts: readonly string[]
}

const LEGAL = /^(licen[sc]e|copying|notice|third.?party)/i

/** The only part that does not come from npm. */
const MODEL = { folder: 'assets/all-MiniLM-L6-v2-int8', name: 'all-MiniLM-L6-v2', version: 'int8' }

/** @param packages their names, including those of the platform's own packages */
export async function componentsOf(packages: readonly string[]): Promise<readonly Component[]> {
  const lock = await Bun.file(join(ROOT, 'package-lock.json')).json()
  const found = await Promise.all(
    [...new Set(packages)].sort().map(async (name) => {
      const folder = await packageFolder(name)
      const { version, license, author } = await Bun.file(join(folder, 'package.json')).json()
      const { integrity } = lock.packages[`node_modules/${name}`] ?? {}
      const own = [...(await legalTexts(folder)), ...(await keptText(`${name}.txt`))]
      const holder = author?.name ?? author ?? `the authors of ${name}`
      const texts = own.length > 0 ? own : await standardText(String(license), String(holder))
      return { name, version, license: String(license), integrity, texts }
    }),
  )
  const texts = await legalTexts(join(ROOT, MODEL.folder))
  return [...found, { name: MODEL.name, version: MODEL.version, license: 'Apache-2.0', texts }]
}

async function legalTexts(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => LEGAL.test(name)).sort()
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
}

/**
 * Returns texts that a package should contain but does not, such as those of the libraries linked
 * into Bun.
 */
async function keptText(name: string): Promise<readonly string[]> {
  const file = Bun.file(join(ROOT, 'deploy/licences', name))
  return (await file.exists()) ? [await file.text()] : []
}

/** @throws Error if a package has no licence text and its licence is not a known standard one */
async function standardText(license: string, holder: string): Promise<readonly string[]> {
  if (license === 'Apache-2.0') return [await readFile(join(ROOT, 'LICENSE'), 'utf8')]
  const [text] = await keptText(`${license}.txt`)
  if (text === undefined) throw new Error(`There is no text of the licence ${license}: ${holder}`)
  return [text.replace('@HOLDER@', holder)]
}

export function cycloneDx(version: string, components: readonly Component[]): string {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        ...{
          type: 'application',
          name: 'eider',
          version,
          'bom-ref': `pkg:generic/eider@${version}`,
        },
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: components.map((component) => {
      const { name, version, license, integrity } = component
      const isPackage = name !== MODEL.name
      const purl = isPackage
        ? `pkg:npm/${name.replace('@', '%40')}@${version}`
        : `pkg:generic/${name}@${version}`
      const content = integrity?.replace('sha512-', '')
      return {
        type: isPackage ? 'library' : 'machine-learning-model',
        ...{ name, version, purl, 'bom-ref': purl },
        licenses: [/ (OR|AND) /.test(license) ? { expression: license } : named(license)],
        ...(content === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: hex(content) }] }),
      }
    }),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function named(license: string) {
  return { license: /\s/.test(license) ? { name: license } : { id: license } }
}

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex')
}

/** Writes each text once, below the packages to which it applies. */
export function licenceText(components: readonly Component[]): string {
  const owners = new Map<string, string[]>()
  for (const { name, version, license, texts } of components) {
    for (const text of texts) {
      const key = text.trim()
      owners.set(key, [...(owners.get(key) ?? []), `${name} ${version} (${license})`])
    }
  }
  const rule = '-'.repeat(80)
  return [...owners]
    .map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)
    .join(`\n${rule}\n\n`)
}
