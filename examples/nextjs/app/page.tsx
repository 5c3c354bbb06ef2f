// A server component: it renders the form, and passes the address on to the component that reads the score.

import { PyxisProvider, PyxisScore } from "@pyxis/react";

interface Props {
  searchParams: Promise<{ address?: string | string[] }>;
}

export default async function Page({ searchParams }: Props) {
  const { address } = await searchParams;
  const given = typeof address === "string" ? address.trim() : "";
  return (
    <main>
      <h1>Score of an address</h1>
      <form>
        <label>
          Address
          <input name="address" defaultValue={given} placeholder="0x…" required />
        </label>
        <button>Read score</button>
      </form>
      {given && (
        <PyxisProvider route="/api/score">
          <PyxisScore address={given} />
        </PyxisProvider>
      )}
    </main>
  );
}
