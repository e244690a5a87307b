/** What a knowledge base holds of files that were sent to it. */
import type { NamedObject } from '../command.ts'
import type { HttpClient } from '../http-client.ts'
import { runSql } from '../sql/statement-client.ts'

export interface KnownFile {
  readonly hash: string
  readonly documents: number
  /** Of one of its documents. */
  readonly id: string
}

const KNOWN_FIELDS = ['file_path', 'file_hash'] as const

export class KnownFiles {
  readonly #kb: NamedObject
  readonly #client: HttpClient
  readonly #files = new Map<string, KnownFile>()

  constructor(kb: NamedObject, client: HttpClient) {
    this.#kb = kb
    this.#client = client
  }

  async read(signal: AbortSignal): Promise<void> {
    const [path, hash] = KNOWN_FIELDS.map((name) => `metadata->>'${name}'`)
    const sql = `SELECT ${path}, any_value(${hash}), count(DISTINCT id), min(id) FROM ${quoted(this.#kb.name)}
      WHERE ${path} IS NOT NULL GROUP BY 1`
    const request = { sql, project: this.#kb.project, params: {} }
    const answer = await runSql(request, this.#client, signal)
    if (answer.kind !== 'table') return
    for await (const rows of answer.batches) {
      for (const [file, fileHash, documents, id] of rows) {
        const known = { hash: String(fileHash), documents: Number(documents), id: String(id) }
        this.#files.set(String(file), known)
      }
    }
  }

  get(path: string): KnownFile | undefined {
    return this.#files.get(path)
  }

  get paths(): readonly string[] {
    return [...this.#files.keys()]
  }

  /** After it was stored: documents of its former contents that it holds no more go. */
  async stored(path: string, now: KnownFile, signal: AbortSignal): Promise<void> {
    const former = this.#files.get(path)
    this.#files.set(path, now)
    if (former === undefined) return
    // One document of the same id was replaced as a whole.
    if (former.documents === 1 && now.documents === 1 && former.id === path) return
    await this.#delete(`file_path = :path AND file_hash <> :hash`, { path, hash: now.hash }, signal)
  }

  /** @returns how many documents they were */
  async remove(paths: readonly string[], signal: AbortSignal): Promise<void> {
    for (let start = 0; start < paths.length; start += PATHS_AT_ONCE) {
      const some = paths.slice(start, start + PATHS_AT_ONCE)
      await this.#delete('file_path IN :paths', { paths: some }, signal)
      for (const path of some) this.#files.delete(path)
    }
  }

  async #delete(
    condition: string,
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<void> {
    const sql = `DELETE FROM ${quoted(this.#kb.name)} WHERE ${condition}`
    await runSql({ sql, project: this.#kb.project, params }, this.#client, signal)
  }
}

const PATHS_AT_ONCE = 200

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
