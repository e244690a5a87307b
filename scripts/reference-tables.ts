/**
 * `bun scripts/reference-tables.ts [address of openapi.json]` writes the tables in the documentation that are generated from
 * the code. Routes come from a running server. Run it after changes to routes, error codes or settings.
 */
import { ERRORS } from '../src/core/errors.ts'
import { SETTINGS } from '../src/wiring/settings/settings.ts'

/** The page of each table. */
const PAGES: Readonly<Record<string, string>> = {
  routes: 'docs/http.md',
  errors: 'docs/errors.md',
  settings: 'docs/settings.md',
}

interface Operation {
  readonly summary?: string
}

/** Returns the rows of each table by the name in its markers. */
async function tables(openApiUrl: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const openApi = (await (await fetch(openApiUrl)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  const routes = Object.entries(openApi.paths).flatMap(([path, operations]) => {
    return Object.entries(operations).map(([method, { summary = '' }]) => {
      return `| ${method.toUpperCase()} | \`${path}\` | ${summary} |`
    })
  })
  const errors = Object.entries(ERRORS).map(([code, { status, number, title }]) => {
    return `| \`${code}\` | ${status} | ${number} | ${title} |`
  })
  const settings = Object.values(SETTINGS).map((setting) => {
    const value = setting.default === '' ? 'not set' : `\`${setting.default}\``
    return `| \`${setting.name}\` | ${value} | ${setting.help} |`
  })
  return {
    routes: ['| method | path | what it does |', '|---|---|---|', ...routes],
    errors: ['| code | status | number | title |', '|---|---|---|---|', ...errors],
    settings: ['| setting | default | meaning |', '|---|---|---|', ...settings],
  }
}

const [openApiUrl = 'http://127.0.0.1:47334/openapi.json'] = process.argv.slice(2)
for (const [name, rows] of Object.entries(await tables(openApiUrl))) {
  const page = new URL(`../${PAGES[name]}`, import.meta.url)
  const text = await Bun.file(page).text()
  const marked = new RegExp(`<!-- ${name} -->[\\s\\S]*?<!-- /${name} -->`)
  if (!marked.test(text)) throw new Error(`${PAGES[name]} has no place for the table "${name}"`)
  const table = `<!-- ${name} -->\n${rows.join('\n')}\n<!-- /${name} -->`
  await Bun.write(
    page,
    text.replace(marked, () => table),
  )
}
