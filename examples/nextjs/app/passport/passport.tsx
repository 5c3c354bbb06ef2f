"use client";

// The element `<pyxis-passport>` in React. It exists in browsers only, so its module is loaded after the first render.

import type { PassportEvents, PyxisPassport } from "@pyxis/sdk/widget";
import type { DetailedHTMLProps, HTMLAttributes } from "react";
import { useEffect, useRef, useState } from "react";

interface PassportAttributes extends HTMLAttributes<PyxisPassport> {
  server: string;
  scorer: string;
  "publishable-key": string;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "pyxis-passport": DetailedHTMLProps<PassportAttributes, PyxisPassport>;
    }
  }
}

interface Props {
  server: string;
  scorer: string;
  publishableKey: string;
}

export function Passport({ server, scorer, publishableKey }: Props) {
  const element = useRef<PyxisPassport>(null);
  const [text, setText] = useState("");

  useEffect(() => {
    const widget = element.current;
    if (!widget) return;
    const show = ({ detail }: PassportEvents["pyxis-result"]) => {
      setText(detail.passing ? `${detail.address} passes.` : `${detail.address} does not pass yet.`);
    };
    const clear = () => setText("");
    widget.addEventListener("pyxis-result", show);
    widget.addEventListener("pyxis-signed-out", clear);
    import("@pyxis/sdk/widget").catch(() => setText("The widget cannot be loaded. Load the page again."));
    return () => {
      widget.removeEventListener("pyxis-result", show as EventListener);
      widget.removeEventListener("pyxis-signed-out", clear);
    };
  }, []);

  return (
    <>
      <pyxis-passport ref={element} server={server} scorer={scorer} publishable-key={publishableKey} />
      <p role="status">{text}</p>
    </>
  );
}
