import { useSession } from './context';

export function Footer() {
  const hello = useSession().store.hello.value;
  return (
    <footer>
      <p data-testid="attribution">
        {hello?.attribution && (
          <>
            <MaybeLink href={hello.attribution.url} text={hello.attribution.text} />
            {' · '}
            <MaybeLink href={hello.attribution.license_url} text={hello.attribution.license} />
          </>
        )}
      </p>
      <p>{hello?.program ?? ''}</p>
    </footer>
  );
}

/** A link, if the address is one that a browser may follow safely. */
function MaybeLink({ href, text }: { readonly href: string | null; readonly text: string }) {
  return href !== null && /^https?:\/\//.test(href) ? (
    <a href={href} target="_blank" rel="noreferrer">
      {text}
    </a>
  ) : (
    <span>{text}</span>
  );
}
