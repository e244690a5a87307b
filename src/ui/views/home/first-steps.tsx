/** What a server with nothing in it offers: text to try it with, and a place for one's own files. */
import { Button } from '../../components/button.tsx'
import { Icon } from '../../components/icon.tsx'
import { FilePicker } from '../../uploads/file-picker.tsx'
import type { NamedFile } from '../../uploads/picked-files.ts'
import { isSampleLoading, loadSample } from './load-sample.ts'

interface FirstStepsProps {
  readonly canLoadSample: boolean
  readonly onFiles: (files: NamedFile[]) => void
}

export function FirstSteps({ canLoadSample, onFiles }: FirstStepsProps) {
  return (
    <div class="home-doors">
      {canLoadSample && <SampleDoor />}
      <section class="panel stack" aria-labelledby="home-files">
        <Icon name="upload" />
        <h2 id="home-files">Drop your files here</h2>
        <p class="quiet">
          PDF, Word, slides, spreadsheets, CSV, JSON, Markdown, HTML, mail, code and plain text.
          They stay on this machine.
        </p>
        <FilePicker onFiles={onFiles} />
      </section>
    </div>
  )
}

function SampleDoor() {
  return (
    <section class="panel stack" aria-labelledby="home-sample">
      <Icon name="book" />
      <h2 id="home-sample">Try it with real text</h2>
      <p class="quiet">
        240 paragraphs of Wikipedia, 96 questions, and an agent that answers from them. It takes a
        few seconds, and you can delete it again.
      </p>
      <div>
        <Button
          look="primary"
          icon="download"
          label="Load the sample"
          disabled={isSampleLoading()}
          onClick={loadSample}
        />
      </div>
    </section>
  )
}
