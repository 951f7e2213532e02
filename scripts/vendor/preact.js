// What the page is drawn with: one module, so that a browser asks once.
import htm from "htm";
import { h } from "preact";

export { Component, Fragment, createContext, createRef, h, render } from "preact";
export * from "preact/hooks";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export const html = htm.bind(h);
