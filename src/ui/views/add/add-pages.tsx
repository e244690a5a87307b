/** Web pages into a knowledge base: their addresses, and how far their links are followed. */
import { useState } from 'preact/hooks'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useBegin, type WayInProps } from './use-begin.ts'

export function AddPages(props: WayInProps) {
  const [addresses, setAddresses] = useState('')
  const [limit, setLimit] = useState('')
  const [depth, setDepth] = useState('0')
  const [domains, setDomains] = useState('')
  const [wrong, setWrong] = useState<string>()
  const { begin, failure, isBusy } = useBegin(props)
  const add = async (event: Event) => {
    event.preventDefault()
    const urls = words(addresses)
    const bad = urls.find((url) => !/^https?:\/\/./.test(url))
    setWrong(bad === undefined ? undefined : `Not an address of a page: ${bad}`)
    if (bad !== undefined) return
    const allowed = words(domains)
    const isBegun = await begin({
      urls,
      crawl_depth: Number(depth),
      ...(limit === '' ? {} : { limit: Number(limit) }),
      ...(allowed.length === 0 ? {} : { filters: { allowed_domains: allowed } }),
    })
    if (isBegun) setAddresses('')
  }
  return (
    <form class="stack" onSubmit={add}>
      <Field label="Addresses" hint="One a line. The server fetches them." error={wrong}>
        {(control) => (
          <textarea
            {...control}
            required
            rows={4}
            placeholder="https://example.org/handbook"
            value={addresses}
            onInput={(event) => setAddresses(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="grid">
        <Field label="Follow links" hint="How many links away from these pages.">
          {(control) => (
            <input
              {...control}
              type="number"
              min={0}
              max={1000}
              required
              value={depth}
              onInput={(event) => setDepth(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Most pages" hint="Empty: as many as the links lead to.">
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={1_000_000}
              value={limit}
              onInput={(event) => setLimit(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Only these hosts" hint="Empty: the hosts of the addresses.">
          {(control) => (
            <input
              {...control}
              placeholder="docs.example.org"
              value={domains}
              onInput={(event) => setDomains(event.currentTarget.value)}
            />
          )}
        </Field>
      </div>
      {failure && <Failure error={failure} />}
      <div>
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Add the pages
        </button>
      </div>
    </form>
  )
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
