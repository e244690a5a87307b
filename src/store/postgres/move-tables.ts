/** Creates and drops the tables in PostgreSQL to which a knowledge base moves. */
import type { RunRemote, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { KeyRange } from './copied-rows.ts'
import {
  BASES,
  createRemoteTables,
  dropRemoteTables,
  MOVING,
  markOf,
  type RemoteState,
  remoteTables,
  SCHEMA,
} from './remote-tables.ts'

interface MoveTables {
  readonly attachment: string
  /**
   * Identifies the model and rules behind vectors and terms. If it differs, new tables are needed.
   */
  readonly content: string
}

/** Or finds those of an earlier attempt. @throws like `KnowledgeBaseStorages.create` */
export async function openMoveTables(
  run: RunRemote,
  place: StoragePlace,
  { attachment, content }: MoveTables,
  described: Pick<RemoteState, 'definition' | 'dimensions'>,
): Promise<void> {
  const known = await markIn(run, place, attachment)
  const mark = markOf(attachment, content)
  if (known === mark) return
  if (known !== null) await dropRemoteTables(run, place)
  await createRemoteTables(run, place, described)
  const sql = `UPDATE ${BASES} SET attachments = ARRAY[$2::text] WHERE name = $1`
  await run(sql, [place.table, mark])
}

export async function dropMoveTables(
  run: RunRemote,
  place: StoragePlace,
  attachment: string,
): Promise<void> {
  if ((await markIn(run, place, attachment)) !== null) await dropRemoteTables(run, place)
}

async function markIn(run: RunRemote, { table }: StoragePlace, attachment: string) {
  const [[bases] = []] = await run(`SELECT to_regclass('${BASES}')`)
  if (bases === null) return null
  const [[mark = null] = []] = await run(
    `SELECT one FROM ${BASES}, unnest(attachments) AS one WHERE name = $1 AND one LIKE $2`,
    [table, markOf(attachment, '%')],
  )
  return mark
}

/** @throws AppError `storage_in_use` if the tables belong to an unfinished move */
export function requireComplete(
  { source, table }: StoragePlace,
  { attachments }: RemoteState,
): void {
  if (!attachments.some((one) => one.startsWith(MOVING))) return
  const what = `a knowledge base is being moved to ${SCHEMA}.${table} in ${source.name}`
  throw new AppError('storage_in_use', `${what}: attach it when its job is done`)
}

/** Returns a hash of the metadata for each key, in the same form as `metadataHashes`. */
export async function remoteHashes(
  run: RunRemote,
  place: StoragePlace,
  { afterKey, lastKey }: KeyRange,
): Promise<ReadonlyMap<bigint, string>> {
  const rows = await run(
    `SELECT chunk_key, md5(convert_to(metadata::text || typed::text, 'UTF8'))
      FROM ${remoteTables(place).chunks}
      WHERE chunk_key > $1 AND chunk_key <= coalesce($2::bigint, chunk_key)`,
    [afterKey, lastKey],
  )
  return new Map(rows.map(([key, hash]) => [BigInt(key ?? 0), String(hash)]))
}
