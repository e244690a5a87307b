/** Writes the release notes, and `release.json` for `eider upgrade --check`. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'

export interface ReleaseFile {
  readonly sha256: string
  readonly bytes: number
}

/** Returns the address of a release's files, laid out as on GitHub. */
export function downloadAddress(releases: string, version: string): string {
  return `${releases}/download/v${version}`
}

/** This applies to every release, because the catalog is never downgraded. */
const UPGRADE = [
  'Make a backup, stop the server, replace the file, start it.',
  'The data folder is upgraded when it is opened; an older Eider refuses it from then on.',
].join('\n')

/** Returns the text below a version's heading, or null if it is missing. */
export function changelogSection(
  changelog: string,
  version: string,
): { readonly date: string; readonly text: string } | null {
  const escaped = version.replaceAll('.', '\\.')
  const heading = new RegExp(`^## ${escaped} \\((\\d{4}-\\d{2}-\\d{2})\\)\\n`, 'm').exec(changelog)
  if (heading === null) return null
  const rest = changelog.slice(heading.index + heading[0].length)
  const end = rest.search(/^## /m)
  const text = (end === -1 ? rest : rest.slice(0, end)).trim()
  return text === '' ? null : { date: heading[1] ?? '', text }
}

/** Returns the general steps, followed by the section's own `### Upgrade`. */
function upgradeNotes(section: string): string {
  const own = /^### Upgrade\n([\s\S]*?)(?=^### |(?![\s\S]))/m.exec(section)?.[1]?.trim()
  return own === undefined ? UPGRADE : `${UPGRADE}\n${own}`
}

/**
 * Between releases, the changelog has no section for the version yet.
 * @param releases the address of all releases
 */
export async function writeRelease(
  dist: string,
  files: ReadonlyMap<string, ReleaseFile>,
  { version, releases }: { readonly version: string; readonly releases: string },
): Promise<void> {
  const changelog = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8')
  const { date, text } = changelogSection(changelog, version) ?? { date: '', text: 'Not released.' }
  const upgrade = upgradeNotes(text)
  const at = downloadAddress(releases, version)
  const listed = [...files].map(([name, file]) => [name, { url: `${at}/${name}`, ...file }])
  const release = { version, date, upgrade, files: Object.fromEntries(listed) }
  await writeFile(join(dist, 'release.json'), `${JSON.stringify(release, null, 2)}\n`)
  const rows = [...files].map(([name, { sha256, bytes }]) => {
    return `| [${name}](${at}/${name}) | ${Math.ceil(bytes / 1e6)} MB | \`${sha256}\` |`
  })
  const table = ['| file | size | SHA-256 |', '|---|---|---|', ...rows].join('\n')
  const parts = [`# Eider ${version}`, text, `## Upgrade`, upgrade, `## Files`, table]
  await writeFile(join(dist, 'NOTES.md'), `${parts.join('\n\n')}\n`)
}
