//! Layout of the page.

use super::html::Html;
use super::schema::SchemaField;
use super::{Audience, Content, Group, Operation, Page, ResponseDoc, STYLE, Schema};

impl Page {
    /// The whole page.
    pub(super) fn html(&self) -> String {
        let mut html = Html::default();
        html.markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
            .markup("<meta name=\"color-scheme\" content=\"light dark\">\n")
            .within("<title>", &self.title, " API reference</title>\n<style>")
            .markup(STYLE)
            .markup("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to content</a>\n")
            .markup("<nav class=\"side\" aria-label=\"Contents\">\n")
            .within("<p class=\"brand\">", &self.title, " ")
            .within("<span class=\"note\">", &self.version, "</span></p>\n");
        self.contents(&mut html);
        html.markup("</nav>\n<details class=\"top\"><summary>Contents</summary>")
            .markup("<nav aria-label=\"Contents of this page\">\n");
        self.contents(&mut html);
        html.markup("</nav></details>\n<main id=\"main\" tabindex=\"-1\">\n");
        self.introduction(&mut html);
        self.keys(&mut html);
        for audience in &self.audiences {
            audience.write(&mut html);
        }
        html.markup("<section class=\"audience\" id=\"schemas\">\n<h2>Schemas</h2>\n")
            .markup("<p class=\"lead\">Fields of request and response bodies.</p>\n");
        for schema in &self.schemas {
            schema.write(&mut html);
        }
        html.markup("</section>\n</main>\n</body>\n</html>\n");
        html.finish()
    }

    fn contents(&self, html: &mut Html) {
        html.markup("<ul>\n<li><a href=\"#main\">Introduction</a></li>\n")
            .markup("<li><a href=\"#keys\">Authentication</a></li>\n</ul>\n");
        for audience in &self.audiences {
            html.within("<p class=\"audience\"><a href=\"#", &audience.anchor, "\">").within(
                "",
                &audience.name,
                "</a></p>\n<ul>\n",
            );
            for group in &audience.groups {
                group.contents(html);
            }
            html.markup("</ul>\n");
        }
        html.markup("<p class=\"audience\"><a href=\"#schemas\">Schemas</a></p>\n");
    }

    fn introduction(&self, html: &mut Html) {
        html.within("<header>\n<h1>", &self.title, " API reference</h1>\n")
            .within("<p class=\"lead\">", &self.summary, "</p>\n<p class=\"facts\">")
            .within("<span>Server <code>", &self.base_url, "</code></span>")
            .markup("<span><a href=\"/openapi.json\">OpenAPI document</a></span>")
            .markup("<span><a href=\"/instructions\">Instructions for agents</a></span></p>\n");
        for paragraph in &self.introduction {
            html.paragraph(paragraph);
        }
        html.markup("</header>\n");
    }

    fn keys(&self, html: &mut Html) {
        html.markup("<section id=\"keys\">\n<h2>Authentication</h2>\n<dl class=\"fields\">\n");
        for key in &self.keys {
            html.within("<div id=\"", &key.anchor, "\">")
                .within("<dt><code>", &key.header, "</code></dt><dd><span>")
                .push_terms(&key.description)
                .markup("</span></dd></div>\n");
        }
        html.markup("</dl>\n</section>\n");
    }
}

impl Audience {
    fn write(&self, html: &mut Html) {
        html.within("<section class=\"audience\" id=\"", &self.anchor, "\">\n")
            .within("<h2>", &self.name, "</h2>\n");
        for group in &self.groups {
            group.write(html);
        }
        html.markup("</section>\n");
    }
}

impl Group {
    fn contents(&self, html: &mut Html) {
        html.within("<li><a class=\"area\" href=\"#", &self.anchor, "\">").within(
            "",
            &self.name,
            "</a>\n<ul>\n",
        );
        for operation in &self.operations {
            html.within("<li><a href=\"#", &operation.anchor, "\">");
            verb(html, &operation.method);
            html.within("<span>", &operation.summary, "</span></a></li>\n");
        }
        html.markup("</ul>\n</li>\n");
    }

    fn write(&self, html: &mut Html) {
        html.within("<section id=\"", &self.anchor, "\">\n")
            .within("<h3>", &self.name, "</h3>\n<p class=\"lead\">")
            .push_terms(&self.description)
            .markup("</p>\n");
        for operation in &self.operations {
            operation.write(html);
        }
        html.markup("</section>\n");
    }
}

impl Operation {
    fn write(&self, html: &mut Html) {
        heading(html, "", &self.anchor, &self.summary);
        html.markup("<p class=\"route\">");
        verb(html, &self.method);
        html.within("<code>", &self.path, "</code>");
        if let Some((anchor, header)) = &self.key {
            html.within("<a class=\"needs\" href=\"#", anchor, "\">").within("needs ", header, "</a>");
        }
        html.markup("</p>\n");
        for paragraph in &self.description {
            html.paragraph(paragraph);
        }
        if !self.parameters.is_empty() {
            html.markup("<h5>Parameters</h5>\n");
            fields(html, &self.parameters);
        }
        if let Some(body) = &self.body {
            html.within("<h5>Body <span class=\"note\">", &body.content.media, "")
                .markup(if body.required { "" } else { ", optional" })
                .markup("</span></h5>\n")
                .paragraph(&body.description);
            body.content.write(html);
        }
        html.markup("<h5>Responses</h5>\n<ul class=\"answers\">\n");
        for answer in &self.answers {
            answer.write(html);
        }
        html.markup("</ul>\n</article>\n");
    }
}

impl ResponseDoc {
    fn write(&self, html: &mut Html) {
        html.within("<li><span class=\"status ", self.mood, "\">")
            .within("", &self.status, "</span>\n<div>\n<p>")
            .push_terms(&self.description);
        if !self.content.kind.is_empty() {
            html.markup(" <span class=\"kind\">").push_terms(&self.content.kind).markup("</span>");
        }
        html.markup("</p>\n");
        if !self.codes.is_empty() {
            html.markup("<p class=\"codes\">");
            for code in &self.codes {
                html.within("<code>", code, "</code>");
            }
            html.markup("</p>\n");
        }
        fields(html, &self.headers);
        self.content.write(html);
        html.markup("</div>\n</li>\n");
    }
}

impl Content {
    fn write(&self, html: &mut Html) {
        fields(html, &self.fields);
        for (title, example) in &self.examples {
            html.markup("<figure>");
            if !title.is_empty() {
                html.within("<figcaption>", title, "</figcaption>");
            }
            html.within("<pre tabindex=\"0\">", example, "</pre></figure>\n");
        }
    }
}

impl Schema {
    fn write(&self, html: &mut Html) {
        heading(html, "schema-", &self.name, &self.name);
        html.paragraph(&self.description);
        if self.fields.is_empty() {
            html.markup("<p class=\"kind\">").push_terms(&self.kind).markup("</p>\n");
        }
        fields(html, &self.fields);
        html.markup("</article>\n");
    }
}

fn heading(html: &mut Html, prefix: &'static str, anchor: &str, title: &str) {
    html.markup("<article id=\"").markup(prefix).within("", anchor, "\">\n<h4><a href=\"#");
    html.markup(prefix).within("", anchor, "\">").within("", title, "</a></h4>\n");
}

fn verb(html: &mut Html, method: &str) {
    html.within("<span class=\"verb ", &method.to_ascii_lowercase(), "\">").within("", method, "</span>");
}

fn fields(html: &mut Html, list: &[SchemaField]) {
    if list.is_empty() {
        return;
    }
    html.markup("<dl class=\"fields\">\n");
    for field in list {
        html.within("<div><dt><code>", &field.name, "</code>");
        if !field.place.is_empty() {
            html.within(" <span class=\"note\">", &field.place, "</span>");
        }
        if field.required {
            html.markup(" <span class=\"required\">required</span>");
        }
        html.markup("</dt><dd><span class=\"kind\">").push_terms(&field.kind).markup("</span>");
        if !field.description.is_empty() {
            html.markup("<span>").push_terms(&field.description).markup("</span>");
        }
        html.markup("</dd></div>\n");
    }
    html.markup("</dl>\n");
}
