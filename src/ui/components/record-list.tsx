/** Lists of server records, as entries with buttons or as a table. */
import type { ComponentChildren, DetailsHTMLAttributes, HTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import { Failure, Loading } from './failure.tsx'
import type { Resource } from './resource.ts'

interface LoadedProps<T> {
  readonly of: Pick<Resource<T>, 'data' | 'failure' | 'reload'>
  /** What is being loaded, such as `the jobs`. */
  readonly what: string
  readonly children: (data: T) => ComponentChildren
}

export function Loaded<T>({ of: { data, failure, reload }, what, children }: LoadedProps<T>) {
  return (
    <>
      {failure && <Failure error={failure} onRetry={reload} />}
      {data === undefined ? failure === undefined && <Loading what={what} /> : children(data)}
    </>
  )
}

/** The most entries that a list shows at once. */
export const LISTED_MAX = 200

interface RecordListProps<T> extends LoadedProps<readonly T[]> {
  /** Shown instead of an empty list. */
  readonly empty: ComponentChildren
}

export function RecordList<T>({ empty, children, ...loaded }: RecordListProps<T>) {
  return <Loaded {...loaded}>{(items) => (items.length === 0 ? empty : children(items))}</Loaded>
}

/** The same with an `Entry` for each record. */
export function Entries<T>({
  children,
  ...loaded
}: Omit<RecordListProps<T>, 'children'> & {
  readonly children: (item: T) => ComponentChildren
}) {
  return (
    <RecordList {...loaded}>{(items) => <ul class="list">{items.map(children)}</ul>}</RecordList>
  )
}

export function Section({ title, buttons, class: look = 'stack', children }: SectionProps) {
  const id = `section-${title.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section class={look} aria-labelledby={id}>
      <div class="row">
        <h2 id={id} class="grow">
          {title}
        </h2>
        {buttons}
      </div>
      {children}
    </section>
  )
}

interface SectionProps {
  readonly title: string
  readonly buttons?: ComponentChildren
  readonly class?: string
  readonly children: ComponentChildren
}

interface EntryProps {
  readonly title: ComponentChildren
  readonly beside: ComponentChildren
  readonly children?: ComponentChildren
}

export function Entry({ title, beside, children }: EntryProps) {
  return (
    <li class="panel list operations-job">
      <div class="row">
        <strong class="grow">{title}</strong>
        {beside}
      </div>
      {children}
    </li>
  )
}

interface DetailsProps extends DetailsHTMLAttributes {
  readonly head: ComponentChildren
}

/** Its contents are drawn, and loaded, only while it is open. */
export function Details({ head, children, open = false, ...details }: DetailsProps) {
  const [isOpen, setIsOpen] = useState(open)
  return (
    <details
      {...details}
      open={isOpen}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      {head}
      {isOpen && children}
    </details>
  )
}

export interface TableColumn<T> {
  readonly title: ComponentChildren
  /** CSS classes for the cells and the column head. */
  readonly look?: string
  /** The label before the value when a row is shown as an entry of several lines. */
  readonly label?: string
  readonly cell: (row: T, index: number) => ComponentChildren
}

interface RecordTableProps<T> extends Omit<HTMLAttributes<HTMLElement>, 'label'> {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly TableColumn<T>[]
  /** CSS classes for the table. `stacked` turns rows into entries on a phone. */
  readonly look?: string
}

/** A table in a panel that scrolls on its own, also with the keyboard. */
export function RecordTable<T>(props: RecordTableProps<T>) {
  const { label, rows, columns, look = 'stacked', class: panel = 'panel flush', ...section } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section {...section} class={panel} tabIndex={0} aria-label={label}>
      <table class={look}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col" class={column.look}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map((column, index) => (
                <td key={index} class={column.look} data-label={column.label}>
                  {column.cell(row, at)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
