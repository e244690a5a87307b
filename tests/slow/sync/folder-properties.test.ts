import { afterEach, expect, setSystemTime, test } from 'bun:test'
import { cp, mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isEverything } from '../../support/sample.ts'
import { type SyncFixture, syncFixture } from '../../sync/sync-fixture.ts'

const ROUNDS = isEverything ? 12 : 5
const EDITS_MAX = 8
const SEEDS = [2]

const FOLDERS = ['', 'black/', 'black/assam/', 'Grün/', '茶/']
/** Two names that differ only in case, and two that differ in how their letters are composed. */
const NAMES = ['leaf', 'Leaf', 'caf\u00e9', 'cafe\u0301', '茶', 'a b', "it's", '%41', 'x']
const KINDS = ['.md', '.txt', '.csv', '.pdf', '.json']

let fixture: SyncFixture

afterEach(async () => {
  setSystemTime()
  await fixture.close()
})

/** A folder that is randomly edited, and its content. */
class EditedFolder {
  readonly files = new Map<string, string>()
  readonly #root: string
  readonly #choose: (below: number) => number
  #texts = 0

  constructor(root: string, choose: (below: number) => number) {
    this.#root = root
    this.#choose = choose
  }

  async edit(): Promise<void> {
    const path = this.#oneOf([...this.files.keys()])
    const edit = this.#choose(9)
    if (path === undefined || edit < 2) return this.#put(this.#newPath(), null)
    if (edit === 2) return this.#put(path, null)
    if (edit === 3) return utimes(join(this.#root, path), this.#choose(1e9), this.#choose(1e9))
    const content = this.files.get(path) ?? ''
    if (edit === 4) {
      // A copy, or the same bytes in another file.
      return this.#put(this.#newPath(path), content)
    }
    if (edit <= 6) return this.#move(path, this.#newPath(path))
    if (edit === 7) return this.#removeFolder()
    this.files.delete(path)
    await rm(join(this.#root, path))
  }

  async #put(path: string, content: string | null): Promise<void> {
    const text = content ?? this.#textFor(path)
    const file = join(this.#root, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
    this.files.set(path, text)
  }

  async #move(from: string, to: string): Promise<void> {
    const content = this.files.get(from) ?? ''
    await mkdir(dirname(join(this.#root, to)), { recursive: true })
    await rename(join(this.#root, from), join(this.#root, to))
    this.files.delete(from)
    this.files.set(to, content)
  }

  /** Sometimes it is kept under another name. */
  async #removeFolder(): Promise<void> {
    const from = `${this.#oneOf(FOLDERS.slice(1)) ?? ''}`
    const own = [...this.files.keys()].filter((path) => path.startsWith(from))
    if (own.length === 0) return
    if (this.#choose(2) === 0) {
      const to = `moved${this.#choose(3)}/`
      await cp(join(this.#root, from), join(this.#root, to), { recursive: true })
      for (const path of own) {
        this.files.set(`${to}${path.slice(from.length)}`, this.files.get(path) ?? '')
      }
    }
    await rm(join(this.#root, from), { recursive: true })
    for (const path of own) this.files.delete(path)
  }

  /** The format of a file does not change. */
  #newPath(old?: string): string {
    const kind = old === undefined ? this.#oneOf(KINDS) : /\.\w+$/.exec(old)?.[0]
    return `${this.#oneOf(FOLDERS)}${this.#oneOf(NAMES)}${kind}`
  }

  #textFor(path: string): string {
    this.#texts += 1
    const words = `Tea number ${this.#choose(4) === 0 ? 0 : this.#texts} is steamed.`
    if (path.endsWith('.csv')) {
      const rows = Array.from({ length: this.#choose(4) }, (_, row) => `${row},${words}`)
      return `id,taste\n${rows.join('\n')}\n`
    }
    if (path.endsWith('.json')) return JSON.stringify([{ id: this.#choose(3), taste: words }])
    if (path.endsWith('.pdf')) return `%PDF-1.7 cut off, ${words}`
    if (this.#choose(8) === 0) return ''
    return `# ${words}\n\n${words.repeat(1 + this.#choose(60))}`
  }

  #oneOf<T>(all: readonly T[]): T | undefined {
    return all[this.#choose(all.length)]
  }
}

/** Returns what the run must report, based on what was stored and what exists now. */
function countsOf(
  stored: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, string>,
  isFull: boolean,
) {
  const counts = { added: 0, changed: 0, unchanged: 0, removed: 0, failed: 0 }
  for (const [path, content] of files) {
    const before = stored.get(path)
    // None of them is a real PDF.
    if (path.endsWith('.pdf')) counts.failed += 1
    else if (before === undefined) counts.added += 1
    else counts[before === content && !isFull ? 'unchanged' : 'changed'] += 1
  }
  for (const path of stored.keys()) {
    if (!files.has(path) && !path.endsWith('.pdf')) counts.removed += 1
  }
  return counts
}

/** Leaves out the position that a document had among those stored together with it. */
async function stored({ app }: SyncFixture, kb: string): Promise<readonly unknown[]> {
  const sql = `SELECT id, chunk_id, chunk_content, metadata FROM ${kb} ORDER BY id, chunk_id LIMIT 100000`
  return (await app.rows(sql)).map(([id, chunkId, content, metadata]) => {
    const { original_row_index: _, ...rest } = Object(metadata)
    return { id, chunkId, content, metadata: rest }
  })
}

for (const seed of SEEDS) {
  test(`a synced folder equals a new knowledge base of it (seed ${seed})`, async () => {
    fixture = await syncFixture()
    const { app, folder } = fixture
    let state = seed
    const choose = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((state / 2_147_483_648) * below)
    }
    const edited = new EditedFolder(folder, choose)
    const kb = '/api/projects/mindsdb/knowledge_bases'
    const source = { name: 'files', kind: 'folder', path: folder, allow_empty: true }
    await fixture.addSource(source)
    let before: ReadonlyMap<string, string> = new Map<string, string>()
    for (let round = 0; round < ROUNDS; round += 1) {
      // If it is later, a file is recognised by its times; otherwise it is read again.
      if (choose(3) > 0) setSystemTime(new Date(Date.now() + 60_000))
      const edits = 1 + choose(EDITS_MAX)
      for (let edit = 0; edit < edits; edit += 1) await edited.edit()
      const isFull = choose(10) === 0
      const wanted = countsOf(before, edited.files, isFull)
      const run = await fixture.run('files', isFull ? { full: true } : undefined)
      expect({ round, run }).toMatchObject({ round, run: { state: 'done', ...wanted } })
      before = new Map(edited.files)
      if (round % 4 !== 3) continue
      await app.send('POST', kb, { knowledge_base: { name: `fresh${round}` } })
      const fresh = `${kb}/fresh${round}/sources`
      await app.send('POST', fresh, { source })
      const { body } = await app.send('POST', `${fresh}/files/run`)
      await app.send('GET', `/api/jobs/${(body as { readonly id: number }).id}/events`)
      expect(await stored(fixture, 'docs')).toEqual([...(await stored(fixture, `fresh${round}`))])
    }
  }, 180_000)
}
