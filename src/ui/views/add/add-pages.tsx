/** Web pages into a knowledge base: their addresses, and how far their links are followed. */
import { useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { TextAreaField } from '../../components/form/text-area-field.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { useBegin, type WayInProps } from './use-begin.ts'
import { useDraft } from './use-draft.ts'

export function AddPages(props: WayInProps) {
  const addresses = useDraft(props, 'addresses')
  const limit = useDraft(props, 'limit')
  const depth = useDraft(props, 'depth')
  const domains = useDraft(props, 'domains')
  const [wrong, setWrong] = useState<string>()
  const { begin, failure, isBusy } = useBegin(props)
  const add = async (event: Event) => {
    event.preventDefault()
    // A comma may be part of an address.
    const urls = split(addresses.text, /\s+/)
    const bad = urls.find((url) => !/^https?:\/\/./.test(url))
    setWrong(bad === undefined ? undefined : `Not a web address: ${bad}`)
    if (bad !== undefined) return
    const allowed = split(domains.text, /[\s,]+/)
    await begin({
      urls,
      crawl_depth: Number(depth.text),
      ...(limit.text === '' ? {} : { limit: Number(limit.text) }),
      ...(allowed.length === 0 ? {} : { filters: { allowed_domains: allowed } }),
    })
  }
  return (
    <form class="stack" onSubmit={add}>
      <TextAreaField
        label="Addresses"
        hint="One per line. The server fetches them."
        error={wrong}
        required
        rows={4}
        placeholder="https://example.org/handbook"
        value={addresses.text}
        onText={addresses.set}
      />
      <div class="grid">
        <TextField
          label="Follow links"
          hint="How many links away from these pages. Leave empty for these pages only."
          type="number"
          min={0}
          max={1000}
          placeholder="0"
          value={depth.text}
          onText={depth.set}
        />
        <TextField
          label="Maximum pages"
          hint="Leave empty for no limit"
          type="number"
          min={1}
          max={1_000_000}
          value={limit.text}
          onText={limit.set}
        />
        <TextField
          label="Only these hosts"
          hint="Leave empty for the hosts of the addresses"
          placeholder="docs.example.org"
          value={domains.text}
          onText={domains.set}
        />
      </div>
      {failure && <Failure error={failure} />}
      <div>
        <Button type="submit" look="primary" label="Add the pages" aria-disabled={isBusy} />
      </div>
    </form>
  )
}

function split(text: string, between: RegExp): string[] {
  return text.split(between).filter((word) => word !== '')
}
