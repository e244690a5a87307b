/** The two ways to choose files without dropping them: files, and a folder with all that is in it. */
import { useRef } from 'preact/hooks'
import { Button } from '../components/button.tsx'
import { type NamedFile, pickedFiles } from './picked-files.ts'

/** Every browser knows it by this name; the types of the page do not. */
const FOLDER = { webkitdirectory: true }

export function FilePicker({ onFiles }: { readonly onFiles: (files: NamedFile[]) => void }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (field: HTMLInputElement) => {
    onFiles(pickedFiles(field.files))
    // The same file may be chosen again.
    field.value = ''
  }
  return (
    <div class="row">
      <Button icon="file" label="Choose files" onClick={() => files.current?.click()} />
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
