/** Files from a drop or a file picker, including whole folders. */
import { useRef } from 'preact/hooks'
import { Button } from '../components/button.tsx'

export interface NamedFile {
  /** The name to store: with folders, but without characters that names must not contain. */
  readonly name: string
  readonly content: File
}

/** Matches files whose rows form a table, which SQL can read directly. */
export const TABLE = /\.(csv|tsv|xlsx|xls|ods|parquet)(\.gz)?$/i

export const FILES_MAX = 5000
const NAME_CHARS_MAX = 255

export function pickedFiles(list: Iterable<File> | null): NamedFile[] {
  return [...(list ?? [])].flatMap((content) => {
    const path = content.webkitRelativePath || content.name
    return path.split('/').every(isVisible) ? [named(path, content)] : []
  })
}

/** Dropped files. Folders are read one after the other. */
export async function droppedFiles(transfer: DataTransfer): Promise<NamedFile[]> {
  // Read before the first `await`, because the items are available only during the event.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  if (entries.length === 0) return pickedFiles(transfer.files)
  const found: NamedFile[] = []
  for (const entry of entries) await collect(entry, found)
  return found
}

export function hasFiles(transfer: DataTransfer | null): boolean {
  return transfer?.types.includes('Files') === true
}

async function collect(entry: FileSystemEntry, found: NamedFile[]): Promise<void> {
  if (found.length >= FILES_MAX || !isVisible(entry.name)) return
  if (isFile(entry)) {
    const content = await new Promise<File>((resolve, reject) => entry.file(resolve, reject))
    found.push(named(entry.fullPath.replace(/^\//, ''), content))
    return
  }
  if (!isFolder(entry)) return
  const reader = entry.createReader()
  for (;;) {
    // The reader returns a few entries at a time, and an empty list at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject)
    })
    if (some.length === 0) return
    for (const one of some) await collect(one, found)
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}

/** `teas - green - sencha.txt` for `teas/green/sencha.txt`: names contain no slash. */
function named(path: string, content: File): NamedFile {
  const name = path
    .replace(/\//g, ' - ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a name may not hold
    .replace(/[\u0000-\u001f\u007f-\u009f\\]/g, '_')
  return { name: name.slice(-NAME_CHARS_MAX).trim() || 'file', content }
}

/** Skips system files, and hidden folders such as `.git` with everything in them. */
function isVisible(name: string): boolean {
  return !name.startsWith('.') && name !== 'Thumbs.db'
}

/** Every browser supports this attribute, but Preact's types lack it. */
const FOLDER = { webkitdirectory: true }

export function FilePicker({ onFiles }: { readonly onFiles: (files: NamedFile[]) => void }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (field: HTMLInputElement) => {
    onFiles(pickedFiles(field.files))
    // Allows the same file to be chosen again.
    field.value = ''
  }
  return (
    <div class="row">
      <Button
        look="primary"
        icon="file"
        label="Choose files"
        onClick={() => files.current?.click()}
      />
      <Button look="quiet" label="Choose a folder" onClick={() => folder.current?.click()} />
      <input
        ref={files}
        type="file"
        multiple
        hidden
        aria-label="Files to add"
        onChange={(event) => take(event.currentTarget)}
      />
      <input
        ref={folder}
        type="file"
        {...FOLDER}
        hidden
        aria-label="Folder to add"
        onChange={(event) => take(event.currentTarget)}
      />
    </div>
  )
}
